"""Samplers: which positions are committed at a step. Each is a function from a Look to a Choice, with its options as keywords."""
