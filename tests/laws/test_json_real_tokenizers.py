"""JSON schemas of MaskBench over tokenizers of real models, where GRAMMARLM_DATA has them: at places of real instances every id
is tried, one by one.

What one token does is read by the machine byte by byte, which laws over small vocabularies hold to `jsonschema`; masks over
100,000 tokens come from tables, kept rows and tries that small vocabularies never fill.
"""

import json
import random
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import grammarlm as gl
from tests.real_data import FOLDER, MASKBENCH, NAMES, needs_data, real_vocabulary

pytestmark = needs_data


@cache
def files() -> list[Path]:
    found = MASKBENCH.glob("*.json")
    return sorted(found, key=lambda file: (zlib.crc32(file.name.encode()), file.name))


@cache
def load(name: str) -> tuple[gl.Vocabulary, Tokenizer]:
    file = FOLDER / "tokenizers" / name / "tokenizer.json"
    return real_vocabulary(name), Tokenizer.from_file(str(file))


def check_schema(file: Path, name: str, order: str, places: int) -> int:
    """How many places were compared; some after each other, so that rows are kept and used again."""
    given = json.loads(file.read_text())
    valid = [test["data"] for test in given.get("tests", []) if test["valid"]]
    vocab, tokenizer = load(name)
    try:
        constraint = gl.compile(gl.JsonSchema(given["schema"], property_order=order), vocab)
    except gl.GrammarError:
        return 0
    rng, done = random.Random(f"{file.name} {name} {order}"), 0
    mask = gl.allocate_mask(1, vocab.size)
    for instance in valid[:3] or [None]:
        indent = rng.choice([None, None, 2])
        text = "" if instance is None else json.dumps(instance, ensure_ascii=rng.random() < 0.2, indent=indent)
        tokens = tokenizer.encode(text, add_special_tokens=False).ids[:2000]
        matcher, chosen = constraint.matcher(), {rng.randrange(len(tokens) + 1) for _ in range(places)}
        for at, token in enumerate([*tokens, -1]):
            matcher.fill_mask(mask)
            if at in chosen:
                compare(matcher, mask, vocab, f"{file.name} {name} {order}, after {text!r:.40}... token {at}")
                done += 1
            if not matcher.advance(token):
                break
    return done


def compare(matcher: gl.Matcher, mask: np.ndarray, vocab: gl.Vocabulary, where: str) -> None:
    allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little").tolist()
    stops, probe = frozenset(vocab.stop_ids), matcher.fork()
    for token in range(vocab.size):
        taken = probe.advance(token)
        if taken:
            probe.rollback(1)
        assert taken == bool(allowed[token]), (
            f"{where}: {vocab.token_bytes(token)!r} mask {allowed[token]} advance {taken}"
        )
    assert any(allowed[stop] for stop in stops) == matcher.is_accepting, where


@pytest.mark.parametrize("order", ["any", "schema"])
def test_a_few_schemas(order: str) -> None:
    assert sum(check_schema(file, "llama3_1", order, 1) for file in files()[3::1600]) >= 3


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["any", "schema"])
def test_many_schemas(name: str, order: str, record_property) -> None:  # type: ignore[no-untyped-def]
    start = NAMES.index(name) * 2 + (order == "any")
    step = 20 if name == "llama3_1" else 80
    places = [check_schema(file, name, order, 2) for file in files()[start::step]]
    record_property("schemas", sum(map(bool, places)))
    record_property("places", sum(places))
    assert sum(places) >= len(places)
