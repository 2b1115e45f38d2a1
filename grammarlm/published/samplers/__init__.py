"""Samplers and drivers of infilling, by the names of `gl.infill(sampler=)`."""
