"""What a server compiles and drops is freed at once: it waits for no run of the garbage collector, which a server may delay."""

import gc
from collections.abc import Callable

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from tests.masks.machines.stack.stack_examples import COMPILED

pytestmark = pytest.mark.usefixtures("only_new_objects")
VOCAB = COMPILED["hostile"]
GRAMMARS: dict[str, Callable[[int], Grammar]] = {
    "schema": lambda n: gl.JsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {f"p{n}": {"type": "string", "pattern": "^[a-z]{2,9}$"}, "q": {"enum": ["v", n]}},
                },
                {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": "date", "minLength": 3}},
            ],
            "not": {"required": [f"z{n}"]},
        }
    ),
    "gbnf": lambda n: gl.Gbnf(f'root ::= "a{n}" root | [b-d]'),
    "regex": lambda n: gl.Regex(f"(a{n}|b){{2,5}}(?=c)c"),
    "choices": lambda n: gl.Choices([f"x{n}", f"y{n}"]),
}


def use(grammar: Grammar) -> None:
    constraint = gl.compile(grammar, VOCAB)
    matcher, mask = constraint.matcher(), gl.allocate_mask(1, VOCAB.size)
    for _ in range(6):
        matcher.fill_mask(mask)
        token = next((t for t in range(VOCAB.size) if mask[0, t // 32] >> t % 32 & 1 and t not in VOCAB.stop_ids), None)
        if token is None or not matcher.advance(token):
            break


@pytest.mark.parametrize("kind", GRAMMARS)
def test_no_circles_of_references(kind: str) -> None:
    for n in range(3):  # what is made once a process, or once a vocabulary
        use(GRAMMARS[kind](n))
    gc.collect()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        for n in range(100, 103):
            use(GRAMMARS[kind](n))
        gc.collect()
        ours = [found for found in gc.garbage if type(found).__module__.startswith("grammarlm")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not ours
