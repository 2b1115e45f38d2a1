"""Proofs that what has been read can be finished: at compile for a whole lexer, or text by text."""
