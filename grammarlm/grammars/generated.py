"""Defaults for grammars that a model generates under: JSON as json.dumps writes it, unless a schema asks for another form.

JSON has many texts for one value, and readers accept all of them. A model that may choose among them writes names with escapes or
endless white space, and no token of a key is ever forced. So where texts are generated and nothing else is requested, schemas are
natural and plain. On a canvas, where any of their tokens may be given, white space is any: one state, without a cap.
"""

from __future__ import annotations

from grammarlm.grammars.json_schema.schema import JsonSchema

from .compose import Grammar
from .derived import Derived


def as_generated(grammar: Grammar) -> Grammar:
    """The same grammar with its schemas' defaults for generation; the grammar itself if nothing changes."""
    return spelled(grammar, "natural")


def as_filled(grammar: Grammar) -> Grammar:
    """The same with its schemas' defaults for canvases."""
    return spelled(grammar, "any")


def spelled(grammar: Grammar, whitespace: str) -> Grammar:
    try:
        return _spelled(grammar, whitespace, {})
    except RecursionError:  # also too deep for compile, which reports it
        return grammar


def _spelled(grammar: Grammar, whitespace: str, made: dict[int, Grammar]) -> Grammar:
    """`made`: results by id, since one part may occur in 2^60 places."""
    if isinstance(grammar, JsonSchema):
        return grammar.as_generated(whitespace)
    if isinstance(grammar, Derived):
        return grammar.spelled(whitespace)
    if id(grammar) not in made:
        made[id(grammar)] = grammar.changed(lambda part: _spelled(part, whitespace, made))
    return made[id(grammar)]
