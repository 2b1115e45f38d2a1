"""How values under a schema can end, in layers: each class knows those below it, and `Endings` (completion.py) them all."""
