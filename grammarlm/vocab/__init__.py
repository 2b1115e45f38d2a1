"""TOKENIZER -> BYTES: the exact bytes of each token, and all tokens as one trie."""
