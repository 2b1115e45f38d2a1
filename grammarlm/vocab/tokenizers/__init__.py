"""Readers of tokenizers: each family becomes a table of token bytes (token_table.py)."""
