"""Canvases of a | b where only a and b have a view, against all rows; judged by `re` and json."""

import json
import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from grammarlm.decoding.diffusion.several import SeveralCanvases, Way, canvas_of
from tests.decoding.diffusion.every_row import check
from tests.decoding.diffusion.families import STOPS, TOKENS, VOCAB
from tests.decoding.diffusion.languages import LETTERS, Language
from tests.decoding.diffusion.mock_models import Adversary

SCHEMA = {
    "type": "object",
    "properties": {"ab": {"type": "integer", "minimum": 3, "maximum": 40}},
    "required": ["ab"],
    "additionalProperties": False,
}
WORDS = r"(ab|2024-)+<?"
EITHER = gl.JsonSchema(SCHEMA) | gl.Regex(WORDS)


def is_either(text) -> bool:
    if re.fullmatch(WORDS, text):
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and list(value) == ["ab"] and isinstance(value["ab"], int) and 3 <= value["ab"] <= 40


def test_either_of_two_canvases_is_exact() -> None:
    patterns = ["(ab|c)*a?", "(ba|cc)+", "a?b?c?a?"]
    one = Language("|".join(patterns), LETTERS, 5)
    each = [gl.compile(gl.Regex(pattern), one.vocab).canvas(5) for pattern in patterns]
    size = one.vocab.size
    canvas = SeveralCanvases([Way(way, 5) for way in each], 5, size, size)
    for number in range(120):
        random = np.random.default_rng(number)
        row = one.rows[random.integers(len(one.rows))].copy()
        if number % 3 == 2:
            row[random.integers(5)] = random.integers(1, size)
        row[random.random(5) < 0.6] = -1
        check(canvas, one.rows, row.tolist(), size, random)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_schema_or_a_regex_is_filled_in(sampler) -> None:
    texts, other = set(), gl.Gbnf('root ::= "<" root ">," | "12"')
    for seed in range(4):
        model = Adversary(len(TOKENS), [0, *STOPS, 97], seed)
        drawn = {"temperature": float(seed % 2), "seed": seed}
        out = gl.infill(model, [-1] * 11, vocab=VOCAB, mask_id=0, grammar=EITHER | other, sampler=sampler, **drawn)
        assert is_either(out.text) or re.fullmatch("(<*)12(?:>,)*", out.text), out.text
        texts.add(out.text)
    assert len(texts) > 1


def test_what_is_known_decides_which_it_is() -> None:
    model, begun = Adversary(len(TOKENS), [0, *STOPS], 1), [TOKENS.index(b"{")]
    for seed in range(3):
        model = Adversary(len(TOKENS), [0, *STOPS], seed)
        out = gl.infill(model, [*begun, *[-1] * 12], vocab=VOCAB, mask_id=0, grammar=EITHER)
        assert 3 <= json.loads(out.text)["ab"] <= 40
        out = gl.infill(model, [*[-1] * 3, TOKENS.index(b"<"), -1], vocab=VOCAB, mask_id=0, grammar=EITHER)
        assert re.fullmatch(WORDS, out.text)
    with pytest.raises(ValueError, match="no text of the constraint"):
        gl.infill(model, [TOKENS.index(b"z"), -1], vocab=VOCAB, mask_id=0, grammar=EITHER)


def test_holes_shrink_in_either() -> None:
    for seed in range(4):
        model = Adversary(len(TOKENS), [0, *STOPS], seed)
        out = gl.infill(
            model,
            [[TOKENS.index(b"ab")], gl.Hole(most=4), [TOKENS.index(b"<")]],
            vocab=VOCAB,
            mask_id=0,
            grammar=EITHER,
        )
        assert re.fullmatch(WORDS, out.text)


def test_what_has_no_canvas_is_refused_by_name() -> None:
    items = gl.Tokens([[TOKENS.index(b"true")]]) + gl.Regex("!")
    with pytest.raises(gl.UnsupportedFeature, match="beside other grammars: the items machine"):
        canvas_of(gl.compile(items, VOCAB), 8)
    with pytest.raises(gl.UnsupportedFeature, match="beside other grammars: the items machine"):
        canvas_of(gl.compile(items | gl.Regex("a"), VOCAB), 8)


def test_an_alternative_without_a_text_is_none() -> None:
    grammar = gl.JsonSchema({"type": "boolean"}) | (gl.Regex("a") & gl.Regex("b"))
    canvas = canvas_of(gl.compile(grammar, VOCAB), 1)
    assert canvas.fill([-1], np.zeros((1, len(TOKENS)))) == [TOKENS.index(b"true")]
