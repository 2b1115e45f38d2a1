"""What a model is to write under a grammar: of JSON texts those that json.dumps writes, unless a schema asks for others.

JSON has many texts for one value, and a reader takes them all. A model that may choose among them spells names in escapes,
or goes on with white space, and no token of a key is ever the only one; so where texts are generated, and nobody has said
otherwise, schemas are natural and plain.
"""

from __future__ import annotations

from .compose import Combination, Grammar
from .json_schema import JsonSchema


def as_generated(grammar: Grammar) -> Grammar:
    """The same grammar, with the defaults of its schemas for texts that are generated; itself where there are none of these."""
    try:
        return _as_generated(grammar, {})
    except RecursionError:  # too deep for compile, too, which says so
        return grammar


def _as_generated(grammar: Grammar, made: dict[int, Grammar]) -> Grammar:
    """`made`: by id, since one part may stand in 2^60 places."""
    if isinstance(grammar, JsonSchema):
        return grammar.as_generated()
    if not isinstance(grammar, Combination):
        return grammar
    known = made.get(id(grammar))
    if known is None:
        parts = tuple(_as_generated(part, made) for part in grammar.parts)
        is_same = all(part is before for part, before in zip(parts, grammar.parts, strict=True))
        known = made[id(grammar)] = grammar if is_same else type(grammar)(parts)
    return known
