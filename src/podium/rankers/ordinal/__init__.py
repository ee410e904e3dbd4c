"""Ordinal rankers: from rows with grades to a grade for each row.

"OR" in this package is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""
