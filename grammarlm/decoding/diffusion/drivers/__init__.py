"""Drivers: which part of a row the model reads, which part a sampler sees, and how often. Each is a generator (run.py)."""
