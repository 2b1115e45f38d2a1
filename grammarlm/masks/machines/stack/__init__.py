"""Grammars with a stack: states, stacks and configs, surveys, mask rows, and proofs that there are no dead ends."""
