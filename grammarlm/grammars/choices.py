"""One of several strings.

The strings are sorted; a state is a range of them and a depth. So 100,000 strings cost one sort, and their trie is built only where
decoding goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammarlm.errors import brief
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .compose import Grammar, encode


@dataclass(frozen=True, init=False)
class Choices(Grammar):
    """Exactly one of the strings; duplicates count once."""

    strings: tuple[str, ...]

    def __init__(self, strings: Iterable[str]):
        if isinstance(strings, (str, bytes)) or not isinstance(strings, Iterable):
            raise TypeError(f"Choices() takes a list of strings, not {type(strings).__name__}; write Choices([...])")
        copied = tuple(strings)
        for index, string in enumerate(copied):
            if not isinstance(string, str):
                raise TypeError(f"Choices() takes strings; number {index} is {type(string).__name__}: {string!r:.80}")
        object.__setattr__(self, "strings", copied)

    def __repr__(self) -> str:
        shown = ", ".join(map(brief, self.strings[:3]))
        return f"Choices([{shown}{', ...' if len(self.strings) > 3 else ''}])"

    def language(self, algebra: Algebra) -> Term:
        return algebra.words(map(encode, self.strings))
