"""Replaces derived grammars by what they stand for in one vocabulary (derived.py), and EBNF with sets of tokens by its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from .compose import Grammar, Literal, leaves
from .derived import Derived, Specials, choice, sequence
from .ebnf.parts import has_tokens, in_parts
from .generated import spelled
from .items.special_token import Token
from .stops import without_stops
from .text import Text

if TYPE_CHECKING:
    from grammarlm.vocab.vocabulary import Vocabulary


def specials_of(vocab: Vocabulary) -> Specials:
    tokens = {*vocab.special_ids, *vocab.stop_ids}
    return Specials((vocab.token_bytes(token).decode(errors="replace") for token in tokens), vocab)


def lowered(grammar: Grammar, vocab: Vocabulary, tick: Callable[[], None]) -> Grammar:
    """The grammar without derived ones in it, and with markers of texts that are special tokens as such; itself where it has
    neither. `tick` raises where the caller's time is over. Over bytes alone, which are no tokens, texts have no most tokens."""
    if not any(isinstance(part, (Derived, Text)) or has_tokens(part) for part in leaves(grammar)):
        return grammar
    specials = specials_of(vocab)
    specials.tick = tick  # type: ignore[method-assign]
    found = _lowered(grammar, specials, {})
    if found is grammar:
        return found
    ends = (vocab.token_bytes(token).decode(errors="replace") for token in vocab.stop_ids)
    return without_stops(found, frozenset([*ends, *vocab.stop_ids]))


def _lowered(grammar: Grammar, specials: Specials, made: dict[int, Grammar]) -> Grammar:
    if id(grammar) in made:
        return made[id(grammar)]
    if isinstance(grammar, Derived):
        found = _lowered(grammar.grammar(specials), specials, {})
        if grammar.whitespace is not None:
            found = spelled(found, grammar.whitespace)
    elif has_tokens(grammar):
        found = in_parts(grammar, specials)
    elif isinstance(grammar, Text):
        found = _marked(grammar, specials)
    else:
        found = grammar.changed(lambda part: _lowered(part, specials, made))
    made[id(grammar)] = found
    return found


def _marked(text: Text, specials: Specials) -> Grammar:
    """A text whose markers may be special tokens: these are read by their ids, and take one of its tokens."""
    if specials.vocab is not None and specials.vocab.names_are_text:
        return replace(text, max_tokens=None) if text.max_tokens else text
    markers = (text.until,) if isinstance(text.until, str) else text.until or ()
    tokens = [marker for marker in markers if marker in specials.names]
    if not tokens:
        return text
    letters = tuple(marker for marker in markers if marker not in specials.names)
    most = None if text.max_tokens is None else text.max_tokens - 1
    excludes = (*text.excludes, *letters)
    before = Literal("") if most == 0 else Text(max_tokens=most, max_chars=text.max_chars, excludes=excludes)
    ways = [sequence([before, choice(map(Token, tokens))])]
    if letters:
        ways.append(Text(letters, max_tokens=text.max_tokens, max_chars=text.max_chars, excludes=text.excludes))
    return choice(ways)
