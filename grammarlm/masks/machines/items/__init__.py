"""Texts that are items of a set, or lists of them."""
