"""What a model is to write under a grammar: of JSON texts those that json.dumps writes, unless a schema asks for others.

JSON has many texts for one value, and a reader takes them all. A model that may choose among them spells names in escapes,
or goes on with white space, and no token of a key is ever the only one; so where texts are generated, and nobody has said
otherwise, schemas are natural and plain.
"""

from __future__ import annotations

from dataclasses import replace

from .compose import Combination, Grammar
from .json_schema import JsonSchema


def as_generated(grammar: Grammar) -> Grammar:
    """The same grammar, with the defaults of its schemas for texts that are generated; itself where there are none of these."""
    try:
        return _as_generated(grammar)
    except RecursionError:  # too deep for compile, too, which says so
        return grammar


def _as_generated(grammar: Grammar) -> Grammar:
    if isinstance(grammar, JsonSchema):
        return grammar.as_generated()
    if isinstance(grammar, Combination):
        parts = tuple(map(_as_generated, grammar.parts))
        if any(part is not before for part, before in zip(parts, grammar.parts, strict=True)):
            return replace(grammar, parts=parts)
    return grammar
