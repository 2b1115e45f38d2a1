"""Blends: methods that make the row that a token is drawn from out of rows of one or several models (blend.py)."""
