"""Completions of values under a schema.

reader.py       reads texts in a machine of its own
languages.py    strings of a language
numbers.py      numbers
lexemes.py      strings, literals, words, and those
values.py       the shortest values of nodes: a fixpoint
frames.py       what ends objects and arrays, entry by entry
completion.py   what ends a text
"""
