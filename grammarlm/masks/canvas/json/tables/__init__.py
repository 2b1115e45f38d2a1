"""Schemas as tables: the states of the JSON machine unrolled, and what the tokens of a vocabulary do to them."""
