"""Texts that are gone on with in any order: what has been read of them is kept, and the answers are those without."""

import zlib

import pytest

import grammarlm as gl
from grammarlm.masks.filters.matcher import FilteredMatcher
from tests.decoding.random_models import Forwards, random_model
from tests.rounding import LOG_P

PATTERN = "[a-z ]{6,12}"


def anywhere(text):
    """Jumps from one open text to another."""
    return zlib.crc32(text.encode()) % 1000 + 40 * len(text)


@pytest.mark.parametrize("at_once", [1, 3])
def test_an_expansion_reads_one_id_and_makes_one_step(at_once, tokenizer, monkeypatch):
    model, steps = random_model("Llama", len(tokenizer)), []
    watched, advance = Forwards(model), FilteredMatcher.advance
    monkeypatch.setattr(FilteredMatcher, "advance", lambda self, token: steps.append(token) or advance(self, token))
    options = {"tokenizer": tokenizer, "regex": PATTERN, "max_tokens": 16, "method": "best_first", "value": anywhere}
    options |= {"expansions": 120, "at_once": at_once, "n": 30, "width": 6}
    prompt = "the cat sat in a hat"
    gl.generate(model, prompt, **options)
    prompt_ids = watched.shapes[0][1]
    expansions = sum(rows for rows, _ in watched.shapes)
    read = sum(rows * ids for rows, ids in watched.shapes) - prompt_ids
    assert 30 < expansions <= 120
    assert read <= 1.5 * expansions
    assert len(steps) <= 2 * expansions + 30 * 20  # answers are read back, too


@pytest.mark.parametrize("kind", ["Llama", "Mistral"])
def test_answers_are_those_without_what_is_kept(kind, tokenizer):
    """However little is kept: more is read again, and nothing else changes. Also where texts of unequal length share no cache."""
    model = random_model(kind, len(tokenizer), **({"sliding_window": 4} if kind == "Mistral" else {}))
    watched, ids, found, expected = Forwards(model), [], [], []
    options = {"tokenizer": tokenizer, "regex": PATTERN, "max_tokens": 16, "method": "best_first", "value": anywhere}
    for memory, cache in ((1 << 28, None), (20_000, None), (0, None), (0, "off")):
        watched.shapes.clear()
        outs = gl.generate(
            model, ["the cat", "a"], expansions=40, at_once=2, n=2, width=5, memory=memory, cache=cache, **options
        )
        found.append([(out.tokens, pytest.approx(out.model_logprobs, rel=0, abs=LOG_P), out.score) for out in outs])
        expected.append([(out.tokens, out.model_logprobs, out.score) for out in outs])
        ids.append(sum(rows * length for rows, length in watched.shapes))
    assert expected[1:] == found[:1] * 3
    assert ids[0] <= ids[1] <= ids[2]
