"""Regression trees: histograms, splits, growth, scoring, and the rounds of boosted ones."""
