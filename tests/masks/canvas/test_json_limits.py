"""Canvases of JSON schemas of too many states: what is decided, and what is refused by name."""

from itertools import permutations
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.canvas.json.states.places import Places
from grammarlm.masks.canvas.json.states.scales import Scale, scales_of
from tests.internals import program_of
from tests.masks.canvas.canvas_cases import json_case
from tests.masks.canvas.substituted import row_of


def partition(sizes: list[int]) -> dict[str, Any]:
    """Required keys in any order, with values of these lengths: given commas ask for groups of these sums."""
    return {
        "type": "object",
        "properties": {chr(97 + i): {"const": "x" * size} for i, size in enumerate(sizes)},
        "required": [chr(97 + i) for i in range(len(sizes))],
        "additionalProperties": False,
    }


def test_two_groups_of_three() -> None:
    sizes = [1, 2, 1, 3, 1, 4]
    texts = [
        b"{%s}" % b",".join(b'"%c":"%s"' % (97 + i, b"x" * sizes[i]) for i in order) for order in permutations(range(6))
    ]
    case = json_case(partition(sizes), [], property_order="any")
    canvas = case.constraint.canvas(len(texts[0]))
    comma = 1 + ord(",")
    for at in range(17, 29):
        row = [-1] * len(texts[0])
        row[at] = comma
        assert canvas.is_completable(row) == any(text[at] == ord(",") for text in texts), at


@pytest.mark.parametrize("count", [8, 12])
def test_many_groups_are_refused_by_name(count: int) -> None:
    """3-PARTITION, which is NP-hard."""
    case = json_case(partition([4, 5, 6] * count), [], property_order="any")
    with pytest.raises(gl.LimitExceeded, match="property_order"):
        case.constraint.canvas(40)


def test_a_row_whose_states_are_too_many_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit leaves it out, where it ended in an error; and the states are not made again."""
    long = {"type": "string", "maxLength": 300}
    case = json_case({"type": "array", "items": long}, [b"x" * 150])
    canvas, tried = case.constraint.canvas(6), list[States]()
    row = row_of(case, 6, b"[", b'"', b"x" * 150, None, b'"', b"]")
    monkeypatch.setattr(view, "MOST_STATES", 200)
    monkeypatch.setattr(view.JsonView, "explorer", spied(view.JsonView.explorer, tried))
    for _ in range(2):
        with pytest.raises(gl.LimitExceeded, match="more than 200 states"):
            canvas.is_completable([*row[:2], *[row[2]] * 3, -1])
    assert len(tried) == len(set(tried)) > 0


def spied(explorer: Any, tried: list[States]) -> Any:
    def noted(self: Any, states: States) -> Any:
        tried.append(states)
        return explorer(self, states)

    return noted


def places_of(schema: object) -> Places:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"."], [256])
    program = program_of(gl.compile(gl.JsonSchema(schema), vocab)).json
    return Places(program.rows, program.start)


def test_scales_that_make_no_difference_are_not_tried() -> None:
    word, deep = {"type": "string", "pattern": "^a*$"}, {"type": "object", "properties": {"a": {"const": 1}}}
    for _ in range(5):
        deep = {"type": "object", "properties": {"a": deep, "b": deep, "c": deep}, "additionalProperties": False}
    counted = {"type": "array", "maxItems": 9, "items": {"type": "array", "items": word}}
    assert scales_of(places_of({"const": 1})) == (Scale(),)
    assert scales_of(places_of(word)) == (Scale(),)
    assert scales_of(places_of(counted)) == (Scale(), Scale(shares=True))
    assert scales_of(places_of(deep)) == (Scale(), Scale(shares=True, joins=True))
