"""Sets of stacks, interned, and the passes over a row by them."""
