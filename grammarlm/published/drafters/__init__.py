"""Where published drafts come from, one mechanism a file: by the names of `gl.Draft.DRAFTERS`, or as objects for `gl.Draft`."""
