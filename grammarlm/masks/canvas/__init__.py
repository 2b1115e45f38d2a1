"""Exact constraints on partly filled rows of tokens, for models that fill masked positions in any order.

    canvas = constraint.canvas(256)
    canvas.allowed([-1, 17, -1, ...]).row(0)

A **view** says what tokens do to the places ("controls") of one machine; a **grid** is a view over rows of one length, with what
precedes and what may follow; **passes** are what a grid knows of one partly filled row (protocol.py).
"""
