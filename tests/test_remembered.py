"""What functions remember from one call to the next is bounded in bytes, not in calls alone: descriptions come from strangers."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read.unknown import about_format, about_keyword
from grammarlm.grammars.lark.load.terminals import literal_pattern
from grammarlm.grammars.regular import charset, utf8

CALLS, SIZE, MOST = 12, 200_000, 400_000


def some_set(number: int) -> charset.CharSet:
    return tuple((at, at) for at in range(0x20 + number, 0xD000, 4))


ASKED: dict[str, Callable[[int], object]] = {
    "a schema's digest": lambda number: gl.JsonSchema({"const": f"{number}" + "a" * SIZE}).digest,
    "an unknown keyword": lambda number: about_keyword(f"{number}" + "a" * SIZE, 1),
    "an unknown format": lambda number: about_format(f"{number}" + "a" * SIZE),
    "a literal": lambda number: literal_pattern('"' + f"{number}" + "a" * SIZE + '"'),
    "a set's complement": lambda number: charset.negate(some_set(number)),
    "a set's capitals": lambda number: charset.ignore_case(some_set(number), True),
    "a set's bytes": lambda number: utf8.encode(some_set(number)) and utf8._KNOWN.clear(),
}


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("name", ASKED)
def test_large_descriptions_are_not_kept(name: str) -> None:
    ask = ASKED[name]
    ask(-1)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(CALLS):
            ask(number)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < MOST, f"{held:,} bytes"
