"""Grammars with a stack: states, stacks and configs, surveys, rows of masks, proofs that no text ends in the middle."""
