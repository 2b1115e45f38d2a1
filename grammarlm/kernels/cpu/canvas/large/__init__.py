"""Rows of large grammars: bounds, and what is followed by the symbol on top alone."""
