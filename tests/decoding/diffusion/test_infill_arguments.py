"""Arguments of gl.infill: whatever they are, an answer or an error that names them; sizes are checked before anything is made."""

import contextlib
import math
import warnings
from types import NoneType
from typing import get_args, get_type_hints

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.cli import main
from grammarlm.decoding.diffusion import SAMPLERS, Choice
from grammarlm.decoding.diffusion.options import names_of
from grammarlm.models.network import Network, Shape
from tests.decoding.diffusion.mock_models import MASK, VOCAB, WIDTH, Context, infill


def answer_or_error(call, *given, **options):
    """What it returns, or the message of an error of ours; no warnings of numpy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return call(*given, **options)
        except (TypeError, ValueError) as error:
            return str(error)


OPTIONS = sorted({(name, option) for name, function in SAMPLERS.items() for option in names_of(function)})
VALUES = [
    0,
    1,
    3,
    -1,
    2.5,
    True,
    None,
    "3",
    "x",
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    10**18,
    10**400,
    [],
    [1],
    [(0, 1)],
]
WRONG_FOR_ALL = [{}, b"x", object(), math.nan, [math.nan], [None], 10**400]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_is_taken_or_refused_by_name(name, option) -> None:
    taken = 0
    for value in VALUES:
        out = answer_or_error(infill, Context(0), [-1] * 5, name, **{option: value})
        if isinstance(out, str):
            assert out.startswith(option), (value, out)
            continue
        assert min(out.tokens) > 0, value
        assert not any(map(math.isnan, out.logprobs)), value
        taken += 1
    assert option in ("shape", "verify") or taken
    assert taken < len(VALUES)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_what_no_option_takes(name, option) -> None:
    for value in WRONG_FOR_ALL:
        with pytest.raises((TypeError, ValueError), match=f"^{option}"):
            infill(Context(0), [-1] * 5, name, **{option: value})


def test_every_option_says_its_type() -> None:
    for name, option in OPTIONS:
        kinds = set(get_args(hint := get_type_hints(SAMPLERS[name])[option])) - {NoneType} or {hint}
        assert kinds & {int, float, str} or option in ("delimiters", "gaps", "regions", "policy"), (name, option)


@pytest.mark.parametrize("value", [10**20, -(10**20), 10**400, 2.5, "3", True, None])
@pytest.mark.parametrize("name", ["steps", "block", "mask_id", "seed"])
def test_numbers_are_named(name, value) -> None:
    options = {"vocab": VOCAB, "mask_id": MASK, "temperature": 1.0} | {name: value}
    out = answer_or_error(gl.infill, Context(0), [-1, 3, -1], **options)
    if isinstance(out, str):
        assert name in out
        return
    assert out.tokens[1] == 3
    assert value is None or (type(value) is int and (value > 0 or name == "seed"))


def test_ids_and_masks_that_nobody_knows_are_named() -> None:
    for ids in ([10**20, -1], [-1, WIDTH], [-2, -1], [-(10**20)], np.array([99, -1])):
        with pytest.raises(ValueError, match=r"holes has the id -?\d+; ids are from 0 to 21"):
            infill(Context(0), ids)
    network = Network(Shape(WIDTH, hidden=32, layers=1, causal=False)).eval()
    for mask in (WIDTH, 10**18, -1):
        with pytest.raises(ValueError, match=f"mask_id=.* an integer from 0 to {WIDTH - 1}"):
            gl.infill(network, [-1, 3], vocab=VOCAB, mask_id=mask)
        with pytest.raises(ValueError, match=f"mask_id=.* an integer from 0 to {WIDTH - 1}"):
            gl.generate(network, [5], vocab=VOCAB, mask_id=mask, max_tokens=2, method="diffusion")


@pytest.mark.parametrize("value", [3.7, "3", True, -1, 10**9, 10**18, 10**20, math.nan, [3]])
def test_a_hole_is_checked_where_it_is_made(value) -> None:
    for made in (lambda: gl.Hole(value), lambda: gl.Hole(most=value)):
        with pytest.raises((TypeError, ValueError), match=r"^gl.Hole\((n|most=)\)"):
            made()


def test_a_row_is_counted_before_it_is_made() -> None:
    half = gl.Hole(40_000)
    for pieces in ([half, half], [half, [-1] * 30_000], [-1] * 65_537, range(10**12), range(10**30), ["a"] * 65_537):
        with pytest.raises(ValueError, match=r"holes has [\d,]+ tokens or more; a row has at most 65,536"):
            infill(Context(0), pieces) if isinstance(pieces, list) else gl.infill(
                Context(0), pieces, vocab=VOCAB, mask_id=MASK
            )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--pieces", "[1000000000]"],
            "--pieces [1000000000]: gl.Hole(n)=1000000000; it takes an integer from 0 to 65536",
        ),
        (["--pieces", '[{"most": 1e9}]'], "gl.Hole(most=) is 1000000000.0; it takes an integer from 1 to 65536"),
        (["--pieces", "[40000, 40000]"], "holes has 80,000 tokens or more; a row has at most 65,536"),
        (["--length", "1000000000"], "--length 1000000000: it takes 1 or more, at most 65536"),
        (["--length", "4", "--set", "tau=abc"], "tau is 'abc'; it takes a number"),
        (["--length", "4", "--set", "tau=NaN"], "tau=nan; it takes a number"),
        (["--length", "4", "--mask-id", "1000000000000000000000"], "mask_id=1000000000000000000000"),
    ],
)
def test_the_command_line_names_them(given, said, capsys) -> None:
    with contextlib.suppress(SystemExit):  # wrong usage
        assert main(["infill", "--model", "tiny", *given]) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err


class Number:
    def __index__(self) -> int:
        return 0


@pytest.mark.parametrize(
    "said",
    [
        None,
        3,
        "a",
        [],
        ([0], [3]),
        Choice([0], [10**20]),
        Choice([0], [WIDTH]),
        Choice([0], [-1]),
        Choice([0], ["a"]),
        Choice([0.5], [3]),
        Choice([10**20], [3]),
        Choice(None, None),
        Choice([], []),
        Choice([0, 0], [3, 3]),
        Choice([0], [3], least="all"),
        Choice([0], [3], memory=3),
        Choice([0], [3], notes=3),
    ],
)
@pytest.mark.parametrize("around", [None, "blocks", "freedave", "s2d2"])
def test_a_sampler_that_says_something_else(said, around) -> None:
    options = {"sampler": lambda look: said} if around is None else {"sampler": around, "inner": lambda look: said}
    with pytest.raises((TypeError, ValueError), match="the sampler"):
        infill(Context(0), [-1] * 4, **options)


def test_a_sampler_may_use_numbers_of_its_own() -> None:
    out = infill(Context(0), [-1], lambda look: Choice([Number()], [np.int64(3)]))
    assert out.tokens == [3]
