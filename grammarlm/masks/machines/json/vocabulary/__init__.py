"""What the tables of a vocabulary (tables.py) are made of: the arena that holds them, strings, white space."""
