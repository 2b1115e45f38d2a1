"""Reading schemas: documents and references, keywords and what they expect, content."""
