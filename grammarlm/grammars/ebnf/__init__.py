"""The notations GBNF (llama.cpp) and EBNF (xgrammar)."""
