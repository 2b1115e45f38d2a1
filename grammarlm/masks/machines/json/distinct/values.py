"""JSON values in one form each: equal values are equal here, whatever their spelling.

"a", "\\u0061"           'a'
1, 1.0, 10e-1           Decimal(1)
true                    (True,)       alone it would be equal to 1
[1, "a"]                ("[", (Decimal(1), "a"))
{"b": 1, "a": true}     ("{", frozenset({("a", (True,)), ("b", Decimal(1))}))    keys do not come twice
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from grammarlm.errors import LimitExceeded

Value = Any  # a str, a Decimal, or a tuple
Values = tuple[frozenset[Value], ...]  # values in sets that get smaller: one more is added without copying all of them
OBJECT, ARRAY = "{", "["
DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)


def value_of(text: bytes) -> Value:
    try:
        return _comparable(DECODER.decode(text.decode()))
    except RecursionError:
        raise LimitExceeded("an item of an array whose items must differ is nested too deeply to be compared") from None


def _comparable(value: Any) -> Value:
    if isinstance(value, dict):
        return OBJECT, frozenset([(key, _comparable(below)) for key, below in value.items()])
    if isinstance(value, list):
        return ARRAY, tuple(map(_comparable, value))
    return value if isinstance(value, (str, Decimal)) else (value,)


def has(values: Values, value: Value) -> bool:
    return any(value in some for some in values)


def with_value(values: Values, value: Value) -> Values:
    added = frozenset([value])
    while values and len(values[-1]) <= len(added):
        values, added = values[:-1], added | values[-1]
    return (*values, added)
