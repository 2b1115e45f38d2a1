"""Decoding methods, by the names of `systems.py`: a blend changes logits, a search follows the texts of a tree, a pool draws
several answers and chooses.
"""
