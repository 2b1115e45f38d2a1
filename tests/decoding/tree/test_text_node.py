"""Texts of a search are nodes with parents: equal where their tokens are, and as cheap as one token each."""

import tracemalloc
from functools import reduce

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.tree.text_node import TextNode

VOCAB = gl.Vocabulary([b"a", b"b", b"</s>"], stop_ids=[2])


def test_a_long_text_goes_away():
    """Freeing a chain of parents must not recurse."""
    text = reduce(TextNode.child, range(300_000), TextNode(0))
    assert text.length == 300_000
    del text


def writer(ids: torch.Tensor) -> torch.Tensor:
    """Writes a and b as it likes, and never stops."""
    return torch.tensor([0.5, 0.4, -20.0]).expand(*ids.shape, 3)


def peak(tokens: int, **arguments) -> int:
    """Of Python's memory, in bytes; torch's own is not counted."""
    tracemalloc.start()
    gl.generate(writer, [0], vocab=VOCAB, max_tokens=tokens, close=False, **arguments)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("tokens", [120, pytest.param(300, marks=pytest.mark.proof)])
@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "awrs", "temperature": 1.0, "seed": 1},
        {"method": "smc", "particles": 2, "temperature": 1.0, "seed": 1},
        {"method": "beam", "beams": 2},
        {"method": "lookahead", "entropy": 9.0},
        {"method": "awrs", "where": lambda text: "x" not in text, "temperature": 1.0, "seed": 1},
    ],
    ids=["awrs", "smc", "beam", "lookahead", "where"],
)
def test_memory_grows_with_the_length_of_the_text_not_with_its_square(arguments, tokens):
    peak(10, **arguments)  # what is imported, compiled and cached by the first call
    short, long = peak(tokens, **arguments), peak(3 * tokens, **arguments)
    assert long < 4 * short  # three times the tokens; the square of it is nine
