"""Machines and networks that are not at hand."""
