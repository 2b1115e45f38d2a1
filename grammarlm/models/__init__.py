"""The embedded models: training text, training, and `load_tiny` to use them offline."""
