"""`grammarlm bench infill`: every sampler on the embedded diffusion model, with the grammar of the answers and without it."""
