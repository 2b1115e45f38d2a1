"""Item sets of token sequences, lists of items, and single tokens."""
