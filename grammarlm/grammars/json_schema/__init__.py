"""JSON Schema: schema.py is the description, read/ its documents, nodes/ what schemas mean, shapes/ the result."""
