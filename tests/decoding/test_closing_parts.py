"""Thoughts, records, lines and calls within max_tokens: never cut, whatever the model wants to write, from the least budget up.

Texts are read back by str.partition, json.loads and jsonschema alone.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from tests.counts import record_counts, tiers
from tests.laws.json_laws import WALKED

torch = pytest.importorskip("torch")

SPARE = (0, 1, 2, 3, 7, 20, 60)
MARKER, CALL, CALLED = "</think>", "<call>", "</call>"
PIECES = [*b'</think> </ think> nk>{ </think>{" <call> l>{ }</call> }</ </call><call>'.split(), b"\n{", b"}\n{"]
TOKENS = [WALKED.token_bytes(token) for token in range(WALKED.size) if token not in WALKED.stop_ids]
VOCAB = gl.Vocabulary([*TOKENS, *PIECES, b"</s>"], stop_ids=[len(TOKENS) + len(PIECES)])
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    },
    "required": ["city", "tags"],
    "additionalProperties": False,
}
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORD = gl.JsonSchema(SCHEMA)
DEADLINE = 12


def is_record(text: str) -> bool:
    return VALIDATOR.is_valid(json.loads(text))


def is_thought_and_record(text: str) -> bool:
    _, marker, rest = text.partition(MARKER)
    return bool(marker) and is_record(rest)


def are_lines(text: str, fewest: int, most: int) -> bool:
    """JSON values in a row, with a line break between two: json's own reader says where each ends."""
    decoder, at, count = json.JSONDecoder(), 0, 0
    while at < len(text) or not count:
        if count:
            assert text[at] == "\n"
            at += 1
        value, at = decoder.raw_decode(text, at)
        count += 1
        assert VALIDATOR.is_valid(value)
    return fewest <= count <= most


def are_calls(text: str) -> bool:
    """Whatever stands before a call; the rest has no tags."""
    decoder, at = json.JSONDecoder(), 0
    while (found := text.find(CALL, at)) >= 0:
        value, at = decoder.raw_decode(text, found + len(CALL))
        assert VALIDATOR.is_valid(value)
        assert text.startswith(CALLED, at)
        at += len(CALLED)
    return CALLED not in text[at:]


CALLS = gl.Repeat(gl.Text(until=CALL) + RECORD + CALLED) + gl.Ban([CALL, CALLED])
GRAMMARS: dict[str, tuple[Any, Callable[[str], bool]]] = {
    "thought": (gl.Text(until=MARKER) + RECORD, is_thought_and_record),
    "short thought": (gl.Text(until=MARKER, max_tokens=DEADLINE) + RECORD, is_thought_and_record),
    "lines": (gl.Repeat(RECORD, 1, 5, "\n"), lambda text: are_lines(text, 1, 5)),
    "two lines": (gl.Repeat(RECORD, 2, 2, "\n"), lambda text: are_lines(text, 2, 2)),
    "calls": (CALLS, are_calls),
    "thought and a choice": (
        gl.Text(until=MARKER, max_tokens=DEADLINE) + (gl.Repeat(RECORD, 1, 3, "\n") | "none"),
        lambda text: text.partition(MARKER)[2] == "none" or are_lines(text.partition(MARKER)[2], 1, 3),
    ),
}


def babbling(seed: int) -> Callable[[Any], Any]:
    """Logits that depend on the last id alone, at random."""
    table = torch.randn(VOCAB.size, VOCAB.size, generator=torch.Generator().manual_seed(seed))
    return lambda ids: table[ids]


def tokens_before_the_end(out: Any, vocab: gl.Vocabulary, marker: str) -> int:
    """How many tokens have bytes of what ends with the first marker."""
    end, read = out.text.encode().index(marker.encode()) + len(marker), 0
    for count, token in enumerate(out.tokens, 1):
        read += len(vocab.token_bytes(token))
        if read >= end:
            return count
    raise AssertionError("the text is longer than its tokens")


def check(name: str, write: Callable[..., Any], vocab: gl.Vocabulary, answers: int) -> Counter[str]:
    grammar, is_valid = GRAMMARS[name]
    least = gl.compile(as_generated(grammar), vocab).matcher().min_tokens_left
    outcomes, rng = Counter[str](), random.Random(name)
    if least:
        with pytest.raises(ValueError, match=f"max_tokens={least - 1}"):
            write(grammar=grammar, max_tokens=least - 1)
    while outcomes.total() < answers:
        budget = max(least, 1) + SPARE[outcomes.total() % len(SPARE)]
        sampling = {"temperature": rng.choice([0.0, 0.7, 1.0, 2.0]), "seed": rng.randrange(1000)}
        out = write(grammar=grammar, max_tokens=budget, **sampling)
        where = f"{name} with {budget} tokens, {sampling}: {out.finish_reason} {out.text!r}"
        assert len(out.tokens) <= budget, where
        assert out.finish_reason in ("stop", "closed"), where
        assert is_valid(out.text), where
        if name in ("short thought", "thought and a choice"):
            assert tokens_before_the_end(out, vocab, MARKER) <= DEADLINE, where
        outcomes[out.finish_reason] += 1
    return outcomes


@pytest.mark.parametrize("name", GRAMMARS)
@tiers("answers", 14, 350)
def test_no_answer_is_cut(name: str, answers: int, record_property: Any) -> None:
    outcomes = check(name, partial(gl.generate, babbling(3), [0], vocab=VOCAB), VOCAB, answers)
    assert outcomes["closed"] > answers / 8, outcomes
    record_property("cases", outcomes.total())
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("name", GRAMMARS)
@tiers("answers", 3, 100)
def test_no_answer_of_the_embedded_model_is_cut(name: str, answers: int, record_property: Any) -> None:
    model, tokenizer = gl.load_tiny()
    write = partial(gl.generate, model, "Two days in Rome.\n", tokenizer=tokenizer)
    outcomes = check(name, write, gl.Vocabulary.from_tokenizer(tokenizer), answers)
    record_property("cases", outcomes.total())
    record_counts(record_property, outcomes)
