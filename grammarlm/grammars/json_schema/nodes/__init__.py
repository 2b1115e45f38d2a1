"""Schemas as nodes: conjunctions of atoms, expanded to shapes."""
