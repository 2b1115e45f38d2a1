"""Texts whose parts have automata of their own."""
