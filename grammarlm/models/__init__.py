"""The embedded models: their networks, and `load_tiny` to use them offline."""
