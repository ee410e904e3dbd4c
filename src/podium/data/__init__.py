"""What rankers learn from: rows, labels, queries, pairs and categories, checked once."""
