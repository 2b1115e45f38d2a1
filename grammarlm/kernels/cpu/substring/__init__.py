"""The suffix automaton of a document: which of its pieces go on with which bytes.

grow.py    the automaton, byte by byte        walk.py    masks and steps
"""
