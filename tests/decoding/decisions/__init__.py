"""Decisions: how probable each of a few answers is."""
