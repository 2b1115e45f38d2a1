"""Automata over bytes as stack tables: their classes, and what the tokens of a vocabulary do to them."""
