"""Runs that a schema forces: read at once, drawn as without, and forgotten where the model draws other tokens."""

import json

import pytest

import grammarlm as gl
from grammarlm.decoding.loop.cost import Cost
from grammarlm.decoding.readers.cached import static_caches_are_right
from tests.decoding.planted import writing
from tests.rounding import LOG_P, embedded_model

RECORD = {"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "city": "London", "active": True}
TYPES = {"name": "string", "age": "integer", "email": "string", "city": "string", "active": "boolean"}
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": kind} for name, kind in TYPES.items()},
    "required": [*TYPES],
    "additionalProperties": False,
}
PROMPTS = ["Ada Lovelace is 36 and lives in London.\nAs JSON: ", "Tom, 7.\n", "A letter from Paris:\n"]


@pytest.fixture(scope="module")
def tiny():
    return embedded_model()


@pytest.mark.parametrize("style", [{}, {"separators": (",", ":")}, {"indent": 2}], ids=str)
def test_runs_share_a_forward(tiny, style) -> None:
    _, tokenizer = tiny
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    tokens = vocab.encode(json.dumps(RECORD, **style))
    model = writing([*tokens, vocab.stop_ids[0]], vocab.size)
    alone = gl.generate(model, [vocab.stop_ids[0]], vocab=vocab, schema=SCHEMA, forced="off")
    shared = gl.generate(model, [vocab.stop_ids[0]], vocab=vocab, schema=SCHEMA)
    assert alone.tokens == shared.tokens == tokens
    assert alone.value == shared.value == RECORD
    assert shared.logprobs == pytest.approx(alone.logprobs, rel=0, abs=LOG_P)
    assert alone.stats.draft_tokens == alone.stats.accepted_tokens == 0
    stats = shared.stats
    assert 5 <= stats.accepted_tokens <= stats.draft_tokens
    # The end takes a forward, unless it is known from the last token on.
    assert len(tokens) <= stats.forwards + stats.accepted_tokens + stats.forced_tokens <= len(tokens) + 1


def test_runs_that_are_cut_otherwise_are_forgotten(tiny) -> None:
    """Each byte by itself is as good a spelling; nobody proposes it."""
    _, tokenizer = tiny
    vocab = gl.Vocabulary.from_tokenizer(tokenizer)
    tokens = [token for letter in json.dumps(RECORD) for token in vocab.encode(letter)]
    model = writing([*tokens, vocab.stop_ids[0]], vocab.size)
    found = gl.generate(model, [vocab.stop_ids[0]], vocab=vocab, schema=SCHEMA)
    assert found.tokens == tokens
    assert found.stats.accepted_tokens < found.stats.draft_tokens
    assert found.stats.forwards <= len(tokens) + 1


IN_SHORT = {("dynamic", 2), ("static", 1)}
DRAWS = ({}, {"temperature": 1.0, "seed": 3}, {"temperature": 1.4, "seed": 8, "n": 3})


@pytest.mark.parametrize(
    ("cache", "draw"),
    [
        pytest.param(cache, draw, marks=[] if (cache, draw) in IN_SHORT else pytest.mark.proof)
        for cache in ("dynamic", "static", "off")
        for draw in range(len(DRAWS))
    ],
)
def test_answers_are_those_without_runs(tiny, cache, draw, monkeypatch) -> None:
    monkeypatch.setattr(Cost, "of", lambda self, ids: 1.0)  # more ids cost nothing, so that drafts pay
    if cache == "static" and not static_caches_are_right():
        pytest.skip("no static cache")
    model, tokenizer = tiny
    schemas = [SCHEMA, None, {"type": "array", "items": SCHEMA, "minItems": 1, "maxItems": 2}]
    found = []
    for forced in ("off", "score"):
        answers = gl.generate(
            model,
            PROMPTS,
            tokenizer=tokenizer,
            schema=schemas,
            max_tokens=70,
            forced=forced,
            cache=cache,
            **DRAWS[draw],
        )
        found.append([one for each in answers for one in (each if isinstance(each, list) else [each])])
    for alone, shared in zip(*found, strict=True):
        assert shared.tokens == alone.tokens
        assert shared.finish_reason == alone.finish_reason
        assert shared.logprobs == pytest.approx(alone.logprobs, rel=0, abs=LOG_P)
        stats = shared.stats
        assert stats.accepted_tokens <= stats.tokens <= stats.forwards + stats.accepted_tokens + stats.forced_tokens
    assert cache == "static" or any(one.stats.accepted_tokens for one in found[1])
    assert cache == "static" or any(one.stats.accepted_tokens < one.stats.draft_tokens for one in found[1])


def test_a_predicate_sees_each_token_of_a_run(tiny) -> None:
    model, tokenizer = tiny
    seen: list[list[str]] = []
    for forced in ("off", "score"):
        texts: list[str] = []

        def where(text: str, texts: list[str] = texts) -> bool:
            texts.append(text)
            return "x" not in text

        gl.generate(model, PROMPTS[0], tokenizer=tokenizer, schema=SCHEMA, max_tokens=60, where=where, forced=forced)
        seen.append(texts)
    assert seen[0] == seen[1]
