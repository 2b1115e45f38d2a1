"""Grammars that a list of strings describes, and the plainest of them: one of several strings.

The strings of `Choices` are sorted; a state is a range of them and a depth. So 100,000 strings cost one sort, and their trie is
built only where decoding goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammarlm.errors import brief
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .compose import Grammar, encode


@dataclass(frozen=True, init=False, repr=False)
class Strings(Grammar):
    """What several strings describe."""

    strings: tuple[str, ...]

    def __init__(self, strings: Iterable[str]):
        name = type(self).__name__
        if isinstance(strings, str):
            raise TypeError(f"{name}() takes a list of strings, not str; write {name}([...])")
        object.__setattr__(self, "strings", copied(strings, f"{name}()"))

    def __repr__(self) -> str:
        shown = ", ".join(map(brief, self.strings[:3]))
        return f"{type(self).__name__}([{shown}{', ...' if len(self.strings) > 3 else ''}])"


class Choices(Strings):
    """Exactly one of the strings; duplicates count once."""

    def language(self, algebra: Algebra) -> Term:
        return algebra.words(map(encode, self.strings))


def copied(strings: Iterable[str], taker: str) -> tuple[str, ...]:
    """The strings, if they are such; TypeError of what takes them."""
    if isinstance(strings, (bytes, bytearray)) or not isinstance(strings, Iterable):
        raise TypeError(f"{taker} takes a list of strings, not {type(strings).__name__}")
    found = tuple(strings)
    for index, string in enumerate(found):
        if not isinstance(string, str):
            raise TypeError(f"{taker} takes strings; number {index} is {type(string).__name__}: {string!r:.80}")
    return found
