"""What shapes mean, straight from shapes.py: is a Python value in a node? Shares no code with the masks.

Strings are asked of `languages` (which is tested on its own). A number is an int where it is spelled without fraction and
exponent, and a Fraction otherwise, as json_values reads it. Everything else is spelled out here.
"""

from __future__ import annotations

from typing import Any

from grammarlm.grammars.json_schema.nodes.normalise import Normalised, normalise
from grammarlm.grammars.json_schema.numbers.numbers import exact
from grammarlm.grammars.json_schema.shapes.shapes import (
    ArrayShape,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.oracles.json_values import identity


def read(schema: Any, **options: Any) -> Normalised:
    return normalise(schema, languages=Languages(), **options)


def check(schema: Any, valid: list[Any], invalid: list[Any], **options: Any) -> Normalised:
    """What a schema comes down to, where its root admits the valid values and none of the invalid ones."""
    n = read(schema, **options)
    assert [value for value in valid if not admits(n.root, value, n.languages)] == []
    assert [value for value in invalid if admits(n.root, value, n.languages)] == []
    return n


def admits(node: Node, value: Any, languages: Languages) -> bool:
    if node.is_anything:
        return True
    return any(_fits(shape, value, languages) for shape in node.alternatives)


def _fits(shape: Shape, value: Any, languages: Languages) -> bool:
    if isinstance(shape, Literal):
        return (value is None or isinstance(value, bool)) and shape.text == {
            None: "null",
            True: "true",
            False: "false",
        }[value]
    if isinstance(shape, StringShape):
        return isinstance(value, str) and _string(shape, value, languages)
    if isinstance(shape, NumberShape):
        return not isinstance(value, (bool, str, list, dict)) and value is not None and _number(shape, value)
    if isinstance(shape, ObjectShape):
        return isinstance(value, dict) and _object(shape, value, languages)
    return isinstance(value, list) and _array(shape, value, languages)


def _string(shape: StringShape, value: str, languages: Languages) -> bool:
    if shape.values is not None:
        return value in shape.values
    if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
        return False
    return languages.has(shape.language, value)


def _number(shape: NumberShape, value: Any) -> bool:
    written_plainly = type(value) is int
    number = exact(value)
    if shape.low is not None and (number < shape.low or (shape.low_open and number == shape.low)):
        return False
    if shape.high is not None and (number > shape.high or (shape.high_open and number == shape.high)):
        return False
    whole = written_plainly if shape.plain else number.denominator == 1
    if (shape.integer and not whole) or (shape.fractional and whole):
        return False
    if any((number / multiple).denominator != 1 for multiple in shape.multiples):
        return False
    return all((number / multiple).denominator != 1 for multiple in shape.not_multiples)


def _object(shape: ObjectShape, value: dict[str, Any], languages: Languages) -> bool:
    if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
        return False
    if not shape.required <= value.keys():
        return False
    assert shape.required <= shape.properties.keys()
    for name, needed in shape.implied.items():
        assert name in shape.properties
        assert needed <= shape.properties.keys()
        if name in value and not needed <= value.keys():
            return False
    for name, below in value.items():
        node = shape.properties.get(name)
        if node is None:
            nodes = [n for language, n in shape.others if languages.has(language, name)]
            assert len(nodes) < 2, "languages of other keys overlap"
            if not nodes:
                return False
            node = nodes[0]
        if not admits(node, below, languages):
            return False
    return True


def _array(shape: ArrayShape, value: list[Any], languages: Languages) -> bool:
    if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
        return False
    if shape.unique and len({identity(v) for v in value}) < len(value):
        return False
    # All ways to read the items so far, as how many count for each `contains`.
    counts = {(0,) * len(shape.contains)}
    for i, item in enumerate(value):
        ways = shape.prefix[i] if i < len(shape.prefix) else shape.rest
        bits = {way.counts for way in ways if admits(way.node, item, languages)}
        counts = {tuple(c + (b >> k & 1) for k, c in enumerate(so_far)) for so_far in counts for b in bits}
    return any(
        all(low <= c and (high is None or c <= high) for c, (low, high) in zip(so_far, shape.contains, strict=True))
        for so_far in counts
    )
