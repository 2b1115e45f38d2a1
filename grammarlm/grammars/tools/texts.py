"""Texts of a format as grammars and as patterns, with slots such as `{name}`, and the marks that free text cannot hold.

    with_slots('<tool name="{name}">', specials, name="look")     Literal('<tool name="look">')
    mark_of('\\n<tool_call>\\n{"name": "')                      '<tool_call>', by which a reader knows that a call begins

For reading, special tokens are no letters: in a coded text each is one character that no UTF-8 text has, half a surrogate pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Choice, Grammar, Literal, Sequence
from grammarlm.grammars.derived import Specials, sequence
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.text import Ban, Text

SLOT = re.compile(r"\{(name|id|index|key|type)\}")
TAG = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\S+")
FIRST_CODE = 0xD800


def with_slots(text: str, specials: Specials, **slots: str | Grammar) -> Grammar:
    """The text with the slots filled. Names of special tokens in it mean the tokens; in what fills a slot they are letters."""
    found: list[Grammar] = []
    for number, piece in enumerate(SLOT.split(text)):
        if number % 2 == 0:
            found.append(specials.grammar(piece))
        else:
            value = slots.get(piece, f"{{{piece}}}")
            found.append(Literal(value) if isinstance(value, str) else value)
    return joined(*found)


def joined(*parts: Grammar) -> Grammar:
    """The parts one after the other, adjacent strings as one: alternatives that begin with strings are found by one trie."""
    found: list[Grammar] = []
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Sequence) else (part,))]
    for part in flat:
        if isinstance(part, Literal) and found and isinstance(found[-1], Literal):
            found[-1] = Literal(found[-1].text + part.text)
        else:
            found.append(part)
    return sequence(found)


def one_of(ways: list[Grammar]) -> Grammar:
    """One of the grammars, which differ. They are not compared: a schema that is spelled otherwise later is another one."""
    return Choice(tuple(ways)) if len(ways) > 1 else ways[0]


@lru_cache(maxsize=256)
def mark_of(text: str) -> str:
    """The first tag of a text, or its first word; "" where there is none. No two occurrences of it overlap, so that a text without
    it, and then the mark, has the mark in one place."""
    begun = TAG.match(SLOT.split(text)[0].strip())
    mark = begun[0] if begun else ""
    return next((mark[:n] for n in range(len(mark), 0, -1) if not _overlaps(mark[:n])), "")


def end_mark(text: str) -> str:
    """What a raw text that this follows does not hold."""
    return mark_of(text) or text


def _overlaps(mark: str) -> bool:
    return any(mark.startswith(mark[n:]) for n in range(1, len(mark)))


def free_text(marks: Iterable[str]) -> Grammar:
    """Any text without the marks."""
    banned = tuple(dict.fromkeys(mark for mark in marks if mark))
    return Ban(banned) if banned else Text()


def some(text: Grammar) -> Grammar:
    return text - ""


def first_letters(*texts: str) -> frozenset[str]:
    return frozenset(text[0] for text in texts if text)


def other_keys(ends: Iterable[str], names: Iterable[str], before: str, closing: str) -> Grammar:
    """Keys that have none of the letters `ends` and are none of the names. With `before` in front of it none reads as `closing`,
    which ends the entries."""
    found = free_text(sorted(ends)) - Choices(list(names))
    begun = closed_by(before, closing)
    return found - (Literal(begun) + Text()) if begun else found


def closed_by(before: str, closing: str) -> str:
    """The letter that a key does not begin with: after `before` it would be read as the beginning of `closing`."""
    return closing[len(before) :][:1] if closing.startswith(before) else ""


class Coder:
    """Texts in which each special token is one character."""

    def __init__(self, specials: Specials):
        self._specials, self._codes = specials, dict[str, str]()

    def _code(self, token: Token) -> str:
        return self._codes.setdefault(str(token.name), chr(FIRST_CODE + len(self._codes)))

    def text(self, text: str) -> str:
        """A text of a format, coded."""
        return self.pieces(self._specials.split(text))

    def pieces(self, pieces: Iterable[str | Token]) -> str:
        return "".join(piece if isinstance(piece, str) else self._code(piece) for piece in pieces)

    def plain(self, coded: str) -> str:
        """The text with the names of the tokens in it."""
        for name, code in self._codes.items():
            coded = coded.replace(code, name)
        return coded

    def has_tokens(self, coded: str) -> bool:
        return any(code in coded for code in self._codes.values())

    def pattern(self, text: str, slots: Mapping[str, str], known: Mapping[str, str] | None = None) -> str:
        """A pattern of a coded text: `slots` has the pattern of each, and a slot that comes again has the same text; `known`: those
        whose text is known."""
        found, known, seen = "", known or {}, set[str]()
        for number, piece in enumerate(SLOT.split(text)):
            if number % 2 == 0:
                found += re.escape(self.text(piece))
            elif piece in known:
                found += re.escape(known[piece])
            elif piece not in slots:
                found += re.escape(f"{{{piece}}}")
            else:
                found += f"(?P={piece})" if piece in seen else f"(?P<{piece}>{slots[piece]})"
                seen.add(piece)
        return found
