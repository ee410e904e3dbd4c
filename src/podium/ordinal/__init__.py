"""Grades, costs and votes, and what ordinal rankers are made of."""
