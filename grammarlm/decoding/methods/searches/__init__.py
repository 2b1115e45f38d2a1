"""Searches: methods that follow several texts of one prompt at once in a tree (search.py)."""
