"""Published decoding methods, by the names of `gl.generate(method=)`."""
