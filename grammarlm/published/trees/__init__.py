"""Shapes of draft trees, and searches for the best of them: by the names of `gl.Draft.TREES`, or for a drafter of its own."""
