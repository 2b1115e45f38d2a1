"""Machines without a stack: controls are the states of a deterministic automaton."""
