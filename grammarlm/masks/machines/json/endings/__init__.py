"""Completions of values under a schema.

reader.py       reads texts in an epoch of its own
languages.py    strings of a language
lexemes.py      strings, numbers, literals, words
objects.py      keys that must come
arrays.py       items that must come
values.py       the shortest values of nodes, from all of these
"""
