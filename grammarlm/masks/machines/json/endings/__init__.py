"""Completions of values under a schema.

reader.py       reads texts in an epoch of its own
languages.py    strings of a language
numbers.py      numbers
lexemes.py      strings, literals, words, and those
objects.py      keys that must come
arrays.py       items that must come
values.py       the shortest values of nodes, from all of these
"""
