"""What is known beforehand, by how probable the model finds it: items (rank.py), spans of a passage (extract.py)."""
