"""Zero-width parts of a regular expression: `^ $ \\A \\Z \\b \\B` and look-behind, as LOOK and PREV terms."""

from __future__ import annotations

import sys

from . import charset, utf8
from .charset import CharSet
from .derivatives import Algebra
from .scanner import MULTILINE, Scanner
from .terms import ANYTHING, NIL, Term


class Anchors(Scanner):
    """A scanner that builds terms, and numbers the character sets that look-behind tests."""

    INSIDE_EMPTY = sys.version_info >= (3, 14)  # \\B matches in the empty text

    def __init__(self, pattern: str | bytes, algebra: Algebra):
        super().__init__(pattern, algebra.tick)
        self.algebra = algebra
        self.anything = ANYTHING  # what may follow a character
        self.behind: list[tuple[CharSet, bool]] = []  # the PREV sets: characters; does the start of the text count?

    def set_term(self, chars: CharSet) -> Term:
        if not self.binary:
            return self.algebra.chars(utf8.encode(chars))
        bits = sum(utf8.byte_range(low, high) for low, high in chars)
        return self.algebra.chars(((bits, None),) if bits else ())

    def preceded_by(self, chars: CharSet, start: bool) -> Term:
        if not chars and not start:
            return self.algebra.alt(())
        if (chars, start) not in self.behind:
            self.behind.append((chars, start))
        return self.algebra.prev(self.behind.index((chars, start)))

    def followed_by(self, chars: CharSet, end: bool) -> Term:
        """LOOK: the next character is in the set (or, with `end`, there is none)."""
        more = self.algebra.cat(self.set_term(chars), self.anything)
        return self.algebra.look(self.algebra.alt((more, NIL)) if end else more)

    def caret_anchor(self) -> Term:
        return self.preceded_by(self.LINE_ENDS if self.flags & MULTILINE else (), start=True)

    def dollar(self) -> Term:
        newline = self.algebra.words([b"\n"])
        if self.flags & MULTILINE:
            newline = self.algebra.cat(newline, ANYTHING)
        return self.algebra.look(self.algebra.alt((NIL, newline)))

    def word_boundary(self, negated: bool) -> Term:
        """\\b: a word character on exactly one side."""
        word = self.category("w")
        other = self.complement(word)
        before_word, before_other = self.followed_by(word, end=False), self.followed_by(other, end=True)
        after_word, after_other = self.preceded_by(word, start=False), self.preceded_by(other, start=True)
        if not negated:
            return self.either((after_word, before_other), (after_other, before_word))
        if self.INSIDE_EMPTY:
            return self.either((after_word, before_word), (after_other, before_other))
        inside, start = self.preceded_by(other, start=False), self.preceded_by((), start=True)
        return self.either(
            (after_word, before_word), (inside, before_other), (start, self.followed_by(other, end=False))
        )

    def either(self, *pairs: tuple[Term, Term]) -> Term:
        return self.algebra.alt(self.algebra.cat(first, second) for first, second in pairs)

    def tracker(self) -> utf8.Edges:
        """Edges that read one character, with the bits of the look-behind sets that contain it."""
        atoms = charset.partition(self.universe(), [chars for chars, _ in self.behind])
        if self.binary:
            return tuple((sum(utf8.byte_range(low, high) for low, high in atom), bits) for atom, bits in atoms)  # type: ignore[misc]
        return utf8.encode_map(tuple(atoms))
