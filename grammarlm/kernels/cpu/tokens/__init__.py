"""Kernels over the tokens of a vocabulary: greedy tokenization, merges, the bytes below each node of the trie."""
