"""Training of the embedded models: `python -m grammarlm.models.train NAME`."""
