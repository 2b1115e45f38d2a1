"""The answers among which a model decides: their texts, what these mean, and how the tokenizer spells them.

Choices are their texts. The texts of a schema are those that its grammar accepts, written out where they are few
(masks/filters/closed.py). JSON has one layout here, that of json.dumps, unless the schema has white space of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grammarlm.decoding.compiled_caches import constraint_of
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.errors import TokenizerError, UnsupportedFeature, brief
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.filters import greedy
from grammarlm.masks.filters.closed import MOST_TEXTS, NotFew
from grammarlm.vocab.vocabulary import Vocabulary

STRING_OR_SEPARATOR = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]')


@dataclass(frozen=True)
class Allowed:
    """An answer that may be given, and its tokens."""

    text: str
    value: Any
    tokens: tuple[int, ...]


def allowed_answers(spec: AnswerSpec) -> list[Allowed]:
    """Those of a schema whose value the Python type refuses are none. UnsupportedFeature where they are not few."""
    found, refusal = [], None
    for text in texts(spec):
        tokens = spelled(spec.vocab, text)
        value, error = spec.form.value(text, tokens)
        refusal = refusal or error
        if error is None:
            found.append(Allowed(text, value, tuple(tokens)))
    if not found:
        raise ValueError(f"no answer has a value; the first one: {refusal}")
    return found


def texts(spec: AnswerSpec) -> Iterable[str]:
    grammar = spec.form.grammar
    if isinstance(grammar, Choices):
        strings = dict.fromkeys(grammar.strings)
        if len(strings) > MOST_TEXTS:
            raise refused(f"there are {len(strings):,} choices")
        return strings
    if not isinstance(grammar, JsonSchema):
        held = "a text of any kind" if grammar is None else brief(grammar, 80)
        raise refused(f"the answer is {held}, which has no choices; give choices= or a schema of few values")
    constraint, compact = spec.constraint, grammar.as_generated("compact")
    assert constraint is not None
    if compact != grammar:  # any white space will do
        constraint, _ = constraint_of(compact, spec.vocab, constraint.report.limits)
    try:
        written = [text.decode() for text in constraint.texts()]
    except NotFew as reason:
        raise refused(f"the schema is {brief(grammar, 80)}: {reason}") from None
    return written if compact == grammar else [spaced(text) for text in written]


def refused(found: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"probabilities are of at most {MOST_TEXTS:,} answers, and {found}")


def spaced(compact: str) -> str:
    """JSON without white space as json.dumps writes it."""
    return STRING_OR_SEPARATOR.sub(lambda found: found[0] + " " if found[0] in ",:" else found[0], compact)


def spelled(vocab: Vocabulary, text: str) -> list[int]:
    """The tokenizer's own tokens of a text; the longest matches where there is no tokenizer, or where it writes other texts than
    this (it begins each with a space, or composes characters)."""
    data = text.encode()
    try:
        own = vocab.encode(text)
    except TokenizerError:
        own = []
    special = {*vocab.special_ids, *vocab.stop_ids}
    if special.isdisjoint(own) and max(own, default=0) < vocab.size and b"".join(map(vocab.token_bytes, own)) == data:
        return own
    tokens = greedy.cut(vocab, data) if data else []
    if tokens is None:
        raise ValueError(f"no tokens of the vocabulary spell the answer {brief(text, 60)}")
    return tokens
