"""A list of items from a set of token sequences, without repetition.

    TokenList(Tokens(items), 1, 5)                          one to five items, each a different one
    TokenList(Tokens(items), 2, 2, separator=", ")          two items, and between them tokens that spell ", "
    TokenList(Tokens(items), 1, 5) + Text()                 then free text

Each item begins and ends at a token boundary, and so does the separator. Where an item is a prefix of another, a list can be split
into items in several ways; it is in the language if one of them is valid.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammarlm.errors import UnsupportedFeature, check_type
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .tokens import Tokens

MOST = (1 << 31) - 1


@dataclass(frozen=True)
class TokenList(Grammar):
    """`fewest` to `most` items of a set, all of them different unless `distinct=False`."""

    items: Tokens
    fewest: int = 1
    most: int = 5
    distinct: bool = True
    separator: str = ""

    def __post_init__(self) -> None:
        check_type(self.items, Tokens, "TokenList(items) takes a gl.Tokens")
        for name in ("fewest", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"TokenList({name}=...) takes a number of items, not {type(value).__name__}")
        if self.most > MOST:
            raise ValueError(f"TokenList(most={self.most!r:.30}): it takes at most {MOST:,}")
        if not 1 <= self.fewest <= self.most:
            raise ValueError(
                f"TokenList(fewest={self.fewest}, most={self.most}): it takes 1 <= fewest <= most; for a list that may be "
                'empty write TokenList(...) | ""'
            )
        check_type(self.distinct, bool, "TokenList(distinct=...) takes True or False")
        check_type(self.separator, str, "TokenList(separator=...) takes a string")

    def language(self, algebra: Algebra) -> Term:
        raise UnsupportedFeature(f"{self!r:.200} is no set of byte strings; it can be a part of + and | only")
