"""The table machine of regular languages: steps, walks along the vocabulary's trie, and CSR automata."""
