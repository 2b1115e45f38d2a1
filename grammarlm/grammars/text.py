"""Any text: up to a marker, or without certain strings.

    Text()                      any text
    Text(until="</think>")      any text that ends with the marker's first occurrence, which is part of it
    Ban(["foo", "bar"])         any text with none of these strings in it; most useful as  grammar & Ban([...])

Text here is UTF-8. Both are about bytes, so it does not matter how tokens split a marker or a banned string: a token that contains
the end of a marker and something after it is refused, and so is one that completes a banned string begun by earlier tokens.

The states are those of the Aho-Corasick automaton of the strings, because that is what the derivatives of "anything, then one of
the strings" amount to: for each position the prefixes of the strings that end there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammarlm.errors import GrammarError, brief
from grammarlm.grammars.regular import charset, utf8
from grammarlm.grammars.regular.derivatives import EVERY_BYTE, Algebra
from grammarlm.grammars.regular.terms import ANYTHING, FOREVER, Term

from .choices import Strings, copied
from .compose import Grammar, encode


@dataclass(frozen=True, init=False, repr=False)
class Text(Grammar):
    """Any UTF-8 text; with `until`, a string or several, it ends at the first complete occurrence of one, and nowhere else."""

    until: str | tuple[str, ...] | None

    def __init__(self, until: str | Iterable[str] | None = None):
        kept = until if until is None or isinstance(until, str) else copied(until, "Text(until=...)")
        object.__setattr__(self, "until", kept)

    def __repr__(self) -> str:
        return "Text()" if self.until is None else f"Text(until={brief(self.until, 80)})"

    def language(self, algebra: Algebra) -> Term:
        if self.until is None:
            return any_text(algebra)
        markers = (self.until,) if isinstance(self.until, str) else self.until
        if not markers:
            raise GrammarError(
                "Text(until=()) names no marker, so the text could never end; leave `until` out for any text"
            )
        if "" in markers:
            raise GrammarError(
                "Text(until=...) has an empty marker, which every text begins with; leave `until` out for any text"
            )
        marked = algebra.cat(ANYTHING, algebra.words(map(encode, markers)))
        goes_on = algebra.sequence([marked, algebra.chars(((EVERY_BYTE, None),)), ANYTHING])
        return algebra.both([any_text(algebra), marked, algebra.without(goes_on)])


class Ban(Strings):
    """Any UTF-8 text that contains none of the strings, however tokens spell it."""

    def language(self, algebra: Algebra) -> Term:
        if "" in self.strings:
            raise GrammarError("Ban() holds an empty string, which is in every text: no text would be left")
        banned = algebra.sequence([ANYTHING, algebra.words(map(encode, self.strings)), ANYTHING])
        return algebra.both([any_text(algebra), algebra.without(banned)])


def any_text(algebra: Algebra) -> Term:
    """All of UTF-8."""
    return algebra.repeat(algebra.chars(utf8.encode(charset.ALL)), 0, FOREVER)
