"""Weak rankings by one feature, the searches that find them, and their sum."""
