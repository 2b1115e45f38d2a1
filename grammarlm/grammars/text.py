"""Any text: up to a marker, or without certain strings.

    Text()                      any text
    Text(until="</think>")      any text that ends with the marker's first occurrence, which is part of it
    Text(until="</think>", max_tokens=200, max_chars=2000)
                                the same, and the marker ends within so many tokens; so many characters stand before it
    Text(excludes=["<tool>"], max_tokens=200)
                                any text with none of these strings in it, of at most so many tokens
    Ban(["foo", "bar"])         any text with none of these strings in it; most useful as  grammar & Ban([...])

Text here is UTF-8. Both are about bytes, so it does not matter how tokens split a marker or a banned string: a token that contains
the end of a marker and something after it is refused, and so is one that completes a banned string begun by earlier tokens.

The states are those of the Aho-Corasick automaton of the strings, because that is what the derivatives of "anything, then one of
the strings" amount to: for each position the prefixes of the strings that end there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammarlm.errors import GrammarError, brief, suggesting
from grammarlm.grammars.regular import charset, utf8
from grammarlm.grammars.regular.derivatives import EVERY_BYTE, Algebra
from grammarlm.grammars.regular.terms import ANYTHING, FOREVER, Term

from .choices import Strings, copied
from .compose import Grammar, encode


@dataclass(frozen=True, init=False, repr=False)
class Text(Grammar):
    """Any UTF-8 text; with `until`, a string or several, it ends at the first complete occurrence of one, and nowhere else.

    `excludes`: strings that are nowhere in it, the marker included; `max_tokens`: no more tokens have bytes of it, those that
    others share with it included; `max_chars`: characters before the marker.
    """

    until: str | tuple[str, ...] | None
    max_tokens: int | None
    max_chars: int | None
    excludes: tuple[str, ...]

    @suggesting("Text")
    def __init__(
        self,
        until: str | Iterable[str] | None = None,
        *,
        max_tokens: int | None = None,
        max_chars: int | None = None,
        excludes: Iterable[str] = (),
    ):
        kept = until if until is None or isinstance(until, str) else copied(until, "Text(until=...)")
        for name, value, least in (("max_tokens", max_tokens, 1), ("max_chars", max_chars, 0)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"Text({name}=...) takes a number, not {type(value).__name__}")
            if value is not None and value < least:
                raise ValueError(f"Text({name}={value}): it takes {least} or more")
        object.__setattr__(self, "until", kept)
        object.__setattr__(self, "max_tokens", max_tokens)
        object.__setattr__(self, "max_chars", max_chars)
        banned = [excludes] if isinstance(excludes, str) else excludes
        object.__setattr__(self, "excludes", copied(banned, "Text(excludes=...)"))

    def __repr__(self) -> str:
        given = [("until", self.until), ("max_tokens", self.max_tokens), ("max_chars", self.max_chars)]
        given += [("excludes", self.excludes or None)]
        return f"Text({', '.join(f'{name}={brief(value, 80)}' for name, value in given if value is not None)})"

    def language(self, algebra: Algebra) -> Term:
        found = self._up_to(algebra)
        return algebra.both([found, without(algebra, self.excludes, "Text(excludes=...)")]) if self.excludes else found

    def _up_to(self, algebra: Algebra) -> Term:
        if self.until is None:
            return any_text(algebra, self.max_chars)
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
        whole = any_text(algebra)
        if self.max_chars is not None:
            whole = algebra.cat(any_text(algebra, self.max_chars), algebra.words(map(encode, markers)))
        return algebra.both([whole, marked, algebra.without(goes_on)])


class Ban(Strings):
    """Any UTF-8 text that contains none of the strings, however tokens spell it."""

    def language(self, algebra: Algebra) -> Term:
        return algebra.both([any_text(algebra), without(algebra, self.strings, "Ban()")])


def without(algebra: Algebra, strings: tuple[str, ...], taker: str) -> Term:
    """All bytes with none of the strings in them."""
    if "" in strings:
        raise GrammarError(f"{taker} holds an empty string, which is in every text: no text would be left")
    return algebra.without(algebra.sequence([ANYTHING, algebra.words(map(encode, strings)), ANYTHING]))


def any_text(algebra: Algebra, most: int | None = None) -> Term:
    """All of UTF-8, of at most so many characters."""
    return algebra.repeat(algebra.chars(utf8.encode(charset.ALL)), 0, FOREVER if most is None else most)
