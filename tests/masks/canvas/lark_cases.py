"""Grammars that several tests fill rows of, and stock lark as their oracle."""

from collections.abc import Callable
from functools import cache, lru_cache

import lark

CALLS = 'start: NAME "(" (sum ("," sum)*)? ")" ";"\nsum: NAME | sum "+" NAME\nNAME: /[a-z]+/\n%ignore " "\n'
LEVELS = """start: test
?test: either ["?" test ":" test]
?either: sum ("|" sum)*
?sum: unary ("+" unary)*
?unary: "-" unary | postfix
?postfix: atom | postfix "[" test "]"
?atom: "x" | "(" test ")"
"""


@cache
def by_lark(text: str, parser: str = "lalr") -> Callable[[bytes], bool]:
    """Is this a text of the grammar?"""
    reader = lark.Lark(text, parser=parser)

    def accepts(data: bytes) -> bool:
        try:
            reader.parse(data.decode())
        except lark.exceptions.UnexpectedInput:
            return False
        return True

    return lru_cache(None)(accepts)
