"""Rows of one thread of a JSON text: walks along the vocabulary's trie, and the cache of their results."""
