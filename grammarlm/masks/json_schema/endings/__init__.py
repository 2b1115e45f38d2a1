"""Completions of values under a schema, in layers: each class uses those below it, and `Endings` (completion.py) all of them."""
