"""Shapes, the compiled form of a schema: what has values, what is contained in what, the final form."""
