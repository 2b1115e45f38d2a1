"""Rows between whole bounds, made quickly: the general way makes the same."""

import itertools
import random

import pytest

from grammarlm.grammars.json_schema.numbers import numbers
from grammarlm.grammars.json_schema.numbers.rows import packed
from grammarlm.grammars.json_schema.numbers.whole_bounds import FARTHEST, KINDS, packed_whole
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

BOUNDS = [
    None,
    0,
    1,
    2,
    3,
    9,
    10,
    11,
    20,
    99,
    100,
    101,
    255,
    1000,
    65535,
    2**31 - 1,
    10**9,
    10**13,
    123456789012,
    FARTHEST,
]
BOUNDS += [-bound for bound in BOUNDS if bound]


def in_general(name, low, high, tidy):
    low, high = (None if bound is None else numbers.exact(bound) for bound in (low, high))
    return packed(numbers.both(KINDS[name], NumberShape(low=low, high=high)), tidy=tidy)


@pytest.mark.parametrize("tidy", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_the_general_way_makes_the_same_row(name, tidy):
    chance = random.Random(name)
    pairs = list(itertools.product(BOUNDS, BOUNDS))
    pairs += [(chance.randrange(-(10 ** chance.randrange(1, 14)), 10 ** chance.randrange(1, 14)), chance.randrange(10**12))
              for _ in range(2000)]  # fmt: skip
    made = 0
    for low, high in pairs:
        row = None if None not in (low, high) and low > high else packed_whole(name, low, high, tidy)
        if row is not None:
            assert row == in_general(name, low, high, tidy), (low, high)
            made += 1
    assert made > 1000


@pytest.mark.parametrize(("low", "high"), [(0, 0), (FARTHEST + 1, None), (None, -FARTHEST - 1)])
def test_what_has_a_form_of_its_own_is_left_to_the_general_way(low, high):
    assert packed_whole("integer", low, high) is None
