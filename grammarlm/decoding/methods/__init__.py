"""Decoding methods, by the names of `systems.py`: a blend changes logits, a search follows several texts."""
