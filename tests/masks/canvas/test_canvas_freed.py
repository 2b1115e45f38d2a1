"""What a canvas takes is given back as soon as it is dropped: arrays of megabytes that wait for the garbage collector, which counts
objects alone, can fill the memory of a process that sees many grammars."""

import gc

import numpy as np
import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([*(bytes([i]) for i in range(256)), b"ab", b'"a"', b""], stop_ids=[258])
OPEN = {"type": "object", "properties": {"a": {"items": {"$ref": "#"}}, "b": {"type": "string", "pattern": "^[ab]+$"}}}
GRAMMARS = {
    "a regular language": lambda: gl.Regex("(ab)*[0-9]{2}"),
    "a schema": lambda: gl.JsonSchema(OPEN),
    "GBNF": lambda: gl.Gbnf('root ::= item ("," " "? item)*\nitem ::= [0-9]+ | "<" root ">"\n'),
    "Lark": lambda: gl.Lark('start: pair*\npair: "(" pair* ")" | "[" pair* "]"\n'),
    "Lark, not LALR": lambda: gl.Lark('start: "a" start "a" | "b" start "b" | "a" | "b"\n'),
    "parts": lambda: gl.Regex("[0-9]{1,2}") + gl.JsonSchema(OPEN),
    "a choice of parts": lambda: gl.Regex("[0-9]{1,2}") + (gl.JsonSchema(OPEN) | gl.Regex("x+")),
}


def use(grammar: object) -> None:
    constraint = gl.compile(grammar, VOCAB)  # type: ignore[arg-type]
    canvas, row = constraint.canvas(12, room=3), 12 * [-1]
    canvas.allowed(row).row(3)
    row = canvas.fill(row, np.random.default_rng(3).standard_normal((12, VOCAB.size)).astype(np.float32))
    row[2] = row[5] = -1
    canvas.allowed(row).row(5)
    canvas.sample(row, np.zeros((12, VOCAB.size), np.float32), seed=1)


@pytest.mark.parametrize("name", GRAMMARS)
def test_nothing_waits_for_the_garbage_collector(name: str) -> None:
    use(GRAMMARS[name]())  # what is made once a process
    gc.collect()
    debug = gc.get_debug()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        use(GRAMMARS[name]())
        gc.collect()
        left = {type(found) for found in gc.garbage}
    finally:
        gc.set_debug(debug)
        gc.garbage.clear()
    canvases = sorted(kind.__name__ for kind in left if kind.__module__.startswith("grammarlm.masks.canvas"))
    assert not canvases
    assert np.ndarray not in left
