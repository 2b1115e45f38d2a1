"""The names in a grammar: those of its captures, and what has a value without one, its schemas and templates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.schema import JsonSchema

from .capture import Capture
from .compose import Choice, Difference, Grammar, Intersection
from .repeat import Repeat
from .template import Template

SEVERAL = 2
Counted = tuple[Counter[str | None], int]


@dataclass(frozen=True)
class Names:
    """What can be read back from the texts of a grammar."""

    grammar: Grammar  # whose parts they are: what stands beside it under & and - holds for the whole text
    several: dict[str | None, bool]  # by name, may there be more than one? None: of the schemas and templates
    schemas: int  # and templates in the grammar, but for those inside templates, counted up to two


def names_of(grammar: Grammar) -> Names | None:
    """The names of a grammar without derived ones in it; None where it has none and there is not exactly one schema beside others,
    and no template.

    UnsupportedFeature where a name stands below & or - that is not outermost.
    """
    side = grammar
    while isinstance(side, (Intersection, Difference)):
        sides = side.parts if isinstance(side, Intersection) else side.parts[:1]
        named = [part for part in sides if without_names(part) is not part]
        if len(named) != 1:
            break
        side = named[0]
    most, schemas = _count(side, {})
    if isinstance(side, JsonSchema) or not (most.keys() - {None} or schemas == 1):
        return None
    return Names(side, {name: count >= SEVERAL for name, count in most.items()}, schemas)


def _count(grammar: Grammar, made: dict[int, Counted]) -> Counted:
    """How often each name may come in a text, and the number of schemas and templates: both counted up to two. `made`: results by
    id."""
    if id(grammar) in made:
        return made[id(grammar)]
    found = [_count(part, made) for part in grammar.operands]
    most, schemas = Counter[str | None](), sum(count for _, count in found)
    for each, _ in found:
        most = most | each if isinstance(grammar, Choice) else most + each
    if isinstance(grammar, (JsonSchema, Template)):
        most[None], schemas = 1, 1
    elif isinstance(grammar, Capture):
        most[grammar.name] += 1
    elif isinstance(grammar, Repeat) and grammar.max != 1:
        most = Counter() if grammar.max == 0 else most + most
    elif isinstance(grammar, (Intersection, Difference)) and (name := next(filter(None, most), None)):
        raise UnsupportedFeature(
            f"{grammar.sign!r} around Capture({name!r}, ...) stands inside another grammar: {grammar!r:.200}; put it outermost, "
            "(a + b) & c instead of a + (b & c), or name the whole: Capture(name, b & c)"
        )
    found_here = Counter({name: min(count, SEVERAL) for name, count in most.items()}), min(schemas, SEVERAL)
    made[id(grammar)] = found_here
    return found_here


def without_names(grammar: Grammar) -> Grammar:
    """The same texts, without captures and templates."""
    return _without_names(grammar, {})


def _without_names(grammar: Grammar, made: dict[int, Grammar]) -> Grammar:
    """`made`: results by id, since one part may occur in 2^60 places."""
    if isinstance(grammar, (Capture, Template)):
        return _without_names(grammar.part, made)
    if id(grammar) not in made:
        made[id(grammar)] = grammar.changed(lambda part: _without_names(part, made))
    return made[id(grammar)]
