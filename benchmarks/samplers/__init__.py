"""Samplers of `gl.infill` side by side: `python -m benchmarks.samplers`.

parallel.py   on tasks whose joint law is known: tables, a picture    infill.py     on the embedded diffusion model: tables
laws.py       these tasks, and models that know their laws            infill_picture.py
exact.py      one sampler on one task                                 answers.py    answers of the model, and what they cost
outcomes.py   every way that draws can go                             remembered.py a model that reads no row twice
"""
