"""Grammars that stand for others, once the vocabulary is known: tools, structural tags, texts with special tokens in them.

A special token is asked for by its id, so which names in a text are special tokens hangs on the vocabulary. A derived grammar is
a plain description like all others; it is replaced by what it stands for before a machine sees it (lowering.py).

    Marked("<|channel|>final")       Token("<|channel|>") + "final", where the vocabulary has this special token; else the letters
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .compose import Choice, Grammar, Literal, Sequence
from .items.special_token import Token

if TYPE_CHECKING:
    from grammarlm.vocab.vocabulary import Vocabulary


class Specials:
    """The names of a vocabulary's special tokens, and the vocabulary, for what is said of tokens that are text."""

    tick: Callable[[], None] = staticmethod(lambda: None)  # raises where the caller's time is over

    def __init__(self, names: Iterable[str], vocab: Vocabulary | None = None):
        self.names = frozenset(name for name in names if name)
        self.vocab = vocab
        self._grammars: dict[str, Grammar] = {}  # a text is asked for once for each tool

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(name) for name in self.names}, reverse=True)

    @cached_property
    def _begins(self) -> re.Pattern[str]:
        firsts = sorted({re.escape(name[0]) for name in self.names})
        return re.compile(f"[{''.join(firsts)}]" if firsts else r"(?!)")

    def split(self, text: str) -> list[str | Token]:
        """The text cut at names of special tokens, the longest name first: strings, and the tokens between them."""
        found: list[str | Token] = []
        start = 0
        for letter in self._begins.finditer(text):
            at = letter.start()
            name = next((text[at : at + n] for n in self._lengths if text[at : at + n] in self.names), None)
            if name is None or at < start:
                continue
            if start < at:
                found.append(text[start:at])
            found.append(Token(name))
            start = at + len(name)
        if start < len(text):
            found.append(text[start:])
        return found

    def grammar(self, text: str) -> Grammar:
        """The text, in which names of special tokens mean the tokens."""
        known = self._grammars.get(text)
        if known is None:
            pieces = [Literal(piece) if isinstance(piece, str) else piece for piece in self.split(text)]
            known = self._grammars[text] = sequence(pieces)
        return known


class Derived(Grammar):
    """A grammar that stands for another one. A dataclass whose subclasses have a field `whitespace: str | None`, None unless it is
    generated or filled (generated.py)."""

    whitespace: str | None

    def grammar(self, specials: Specials) -> Grammar:
        """What it stands for; GrammarError where it is not well formed."""
        raise NotImplementedError

    def spelled(self, whitespace: str) -> Grammar:
        """With the defaults of generation or of canvases for its schemas."""
        return self if self.whitespace is not None else replace(self, whitespace=whitespace)  # type: ignore[type-var]

    def language(self, algebra: Algebra) -> Term:
        return self.grammar(Specials(())).language(algebra)


@dataclass(frozen=True)
class Marked(Derived):
    """A text in which the names of special tokens are the tokens, where the vocabulary has them."""

    text: str
    whitespace: str | None = None

    def grammar(self, specials: Specials) -> Grammar:
        return specials.grammar(self.text)


def sequence(parts: Iterable[Grammar]) -> Grammar:
    """All parts in this order, those of sequences among them; of none, the empty text."""
    found = [p for part in parts for p in (part.parts if isinstance(part, Sequence) else (part,)) if p != Literal("")]
    return Sequence(tuple(found)) if len(found) > 1 else found[0] if found else Literal("")


def choice(parts: Iterable[Grammar]) -> Grammar:
    """One of the parts, of which there is at least one."""
    found = list(dict.fromkeys(parts))
    return Choice(tuple(found)) if len(found) > 1 else found[0]
