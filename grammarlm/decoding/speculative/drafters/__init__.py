"""Where drafts come from: one mechanism a file. Trained ones are made here and passed to `gl.Draft`: `Heads`, `Features`."""
