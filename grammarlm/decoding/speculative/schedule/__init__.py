"""When and how far to draft: gl.Draft(..., schedule=)."""
