"""The embedded models: what they are trained on, how they are trained, and `load_tiny` to use them offline."""
