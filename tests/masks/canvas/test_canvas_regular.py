"""What canvases take and say, beside their laws: seeds, logits, arguments, explanations, limits."""

import numpy as np
import pytest

import grammarlm as gl
from tests.masks.canvas.canvas_cases import canvas_case
from tests.masks.canvas.canvas_law import Case


def canvas(length: int = 4) -> gl.Constraint:
    return canvas_case("regular: several bytes, one id twice").constraint.canvas(length)


def test_equal_seeds_give_equal_rows() -> None:
    logits = np.random.default_rng(1).standard_normal((4, 11))
    made = [canvas().sample([-1] * 4, logits, seed=seed) for seed in (3, 3, 4, 5, 6)]
    assert made[0] == made[1]
    assert len(set(map(tuple, made))) > 1


def test_torch_logits_of_half_precision() -> None:
    import torch

    logits = torch.randn(4, 11, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    assert canvas().fill([-1] * 4, logits) == canvas().fill([-1] * 4, logits.float().numpy())


def test_a_token_of_minus_infinity_is_taken_where_no_other_can_be() -> None:
    logits = np.zeros((4, 11), np.float32)
    logits[:, 4] = -np.inf
    assert canvas().fill([3, 3, 3, -1], logits)[3] == 4 or canvas().fill([3, 3, 3, -1], logits)[3] == 8
    assert canvas(1).fill([-1], np.full((1, 11), -np.inf)) == [4]
    with pytest.raises(ValueError, match="probability 0"):
        canvas(1).sample([-1], np.full((1, 11), -np.inf))


def test_what_is_wrong_is_refused() -> None:
    case = canvas_case("regular: several bytes, one id twice")
    row = [-1] * 4
    for call, message in (
        (lambda: canvas().allowed([-1] * 3), "has 3 tokens"),
        (lambda: canvas().allowed([11, -1, -1, -1]), "ids are 0 to 10"),
        (lambda: canvas().allowed([-2, -1, -1, -1]), "-2 at position 0"),
        (lambda: canvas().fill(row, np.zeros((3, 11))), "3x11"),
        (lambda: canvas().fill(row, np.zeros((4, 10))), "4x10"),
        (lambda: canvas().fill(row, np.full((4, 11), np.nan)), "NaN"),
        (lambda: canvas().commit(row, [0, 0], [3, 3]), "each position once"),
        (lambda: canvas().commit(row, [0], [3, 3]), "one id for each"),
        (lambda: canvas().commit(row, [4], [3]), "positions 0 to 3"),
        (lambda: canvas().commit(row, [0], [-1]), "the id -1"),
        (lambda: canvas(0), "1 to 65536, not 0"),
        (lambda: case.constraint.canvas(4, room=-1), "0 to 65536, not -1"),
        (lambda: case.constraint.canvas(4, after=canvas_case("regular: choices").constraint.matcher()), "of another"),
        (lambda: case.constraint.canvas(4, after=case.constraint.matcher(max_tokens=9)), "max_tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="not str"):
        case.constraint.canvas(4, after="ab")
    with pytest.raises(IndexError, match="position 4"):
        canvas().allowed(row).row(4)


def test_explanations_say_which_side_is_at_fault() -> None:
    row = [3, -1, -1, 4]
    assert canvas().explain(row, 1, 99).startswith("not in the vocabulary")
    assert "is special" in canvas().explain(row, 1, 0)
    assert "cannot be read here" in canvas().explain(row, 1, 2)
    assert "do not complete" in canvas().explain(row, 1, 4)
    assert "cannot end here" in canvas().explain(row, 1, 10)
    assert "cannot be completed: its token 2 at position 1" in canvas().explain([3, 2, -1, -1], 2, 3)


def test_a_canvas_after_bytes_that_no_token_spells() -> None:
    case = Case(gl.Regex("(aab)*"), [b"?", b"aa", b"ab", b"b", b"."], lambda data: True)
    matcher = case.constraint.matcher()
    assert matcher.advance_bytes(b"a")
    assert case.constraint.canvas(1, after=matcher).fill([-1], np.zeros((1, 5))) == [2]


def test_too_many_states_are_refused_by_name() -> None:
    vocab = gl.Vocabulary([b"a", b"b", b"."], [2])
    constraint = gl.compile(gl.Regex("a{0,90}b"), vocab, limits=gl.Limits(max_states=40))
    with pytest.raises(gl.LimitExceeded, match="max_states"):
        constraint.canvas(4)
