"""Matchers of JSON schemas, beside what all promise: explanations, batches, threads, little memory, shared rows, long texts.

The masks themselves are tried out in test_json_masks.py.
"""

import json
import random
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.json import Store
from tests.internals import epoch_of
from tests.laws.laws import allowed_ids
from tests.masks.machines.json.json_cases import ANY, CASES, LONGEST, SOME, STOP, TOKENS, VOCAB, case
from tests.real_data import FOLDER, needs_data
from tests.threads import in_threads

IDS = {text: token for token, text in reversed(list(enumerate(TOKENS[:STOP])))}
LITTLE = gl.Limits(max_bytes=1 << 17)


def cuts(data: bytes, rng: random.Random) -> list[int]:
    """The data as tokens, cut at random."""
    tokens, at = [], 0
    while at < len(data):
        ends = [end for end in range(at + 1, min(len(data), at + LONGEST) + 1) if data[at:end] in IDS]
        end = rng.choice(ends)
        tokens.append(IDS[data[at:end]])
        at = end
    return tokens


def row(matcher: gl.Matcher) -> bytes:
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    return mask.tobytes()


def paths(name: str, seed: str = "") -> list[list[int]]:
    return [
        cuts(text.encode(), random.Random(f"{name} {seed} {number}")) for number, text in enumerate(CASES[name].texts)
    ]


def masks_along(constraint: gl.Constraint, path: list[int]) -> list[bytes]:
    matcher, seen = constraint.matcher(), []
    for token in path:
        seen.append(row(matcher))
        assert matcher.advance(token)
    return [*seen, row(matcher)]


def test_reasons() -> None:
    matcher = CASES["declared"].compiled().matcher()
    assert matcher.explain(IDS[b"{"]) == "allowed"
    assert "'['" in matcher.explain(IDS[b"["])
    assert "expected" in matcher.explain(IDS[b"["])
    assert "may not end" in matcher.explain(STOP)
    assert matcher.advance_bytes(b'{"a":1')
    allowed = allowed_ids(matcher, VOCAB)
    assert IDS[b"}"] not in allowed
    for token in range(VOCAB.size):
        assert (matcher.explain(token) == "allowed") is (token in allowed)
    assert matcher.advance_bytes(b',"b":""}')
    assert matcher.explain(STOP) == "allowed"


def test_what_must_come() -> None:
    constraint = CASES["closed"].compiled()
    matcher = constraint.matcher()
    assert matcher.forced_bytes() == b""  # white space may come first
    compact = case({"const": {"a": [True, "é"]}}, whitespace="compact").compiled().matcher()
    assert compact.advance_bytes(b"{")
    before = row(compact)
    forced = compact.forced_bytes()
    assert b'"'.startswith(forced[:1])  # a letter may be escaped
    assert row(compact) == before


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_a_batch_is_its_rows(threads: int | None) -> None:
    rng, many = random.Random("batch"), []
    for _ in range(40):
        name = rng.choice(SOME)
        path = rng.choice(paths(name))
        matcher = CASES[name].compile().matcher() if rng.random() < 0.3 else CASES[name].compiled().matcher()
        for token in path[: rng.randint(0, len(path))]:
            assert matcher.advance(token)
        many.append(matcher)
    many.insert(3, None)
    mask = gl.allocate_mask(len(many), VOCAB.size)
    gl.fill_masks(many, mask, threads=threads)
    for place, matcher in enumerate(many):
        assert mask[place].tobytes() == (row(matcher) if matcher else b"\xff" * mask[place].nbytes)


@pytest.mark.parametrize("name", [*SOME, "declared, any order", "any object", "contains"])
def test_little_memory_changes_no_mask(name: str) -> None:
    """A generation is full again and again while a text is read, every token tried; its masks are those with memory enough."""
    ample, little = CASES[name].compile(), CASES[name].compile(limits=LITTLE)
    generations = []
    for turn in range(40):
        for path in paths(name, str(turn)):
            expected = masks_along(ample, path)
            matcher, fork = little.matcher(), little.matcher()
            for place, token in enumerate(path):
                assert row(matcher) == expected[place]
                for other in range(VOCAB.size):
                    if matcher.advance(other):
                        matcher.rollback(1)
                assert row(matcher) == expected[place]
                assert fork.advance(token)
                assert matcher.advance(token)
                generations = [*generations, epoch_of(matcher)] if epoch_of(matcher) not in generations else generations
            assert row(matcher) == row(fork) == expected[-1]
            matcher.rollback(len(path))
            assert row(matcher) == expected[0]
        if len(generations) > 3:
            break
    assert len(generations) > 1
    assert little.nbytes < 1 << 20


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that one comes between any two steps of another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("turn", range(3))
def test_threads(turn: int, restless: None) -> None:
    """Eight threads on shared constraints of many schemas over one vocabulary, each with its own texts: masks as alone."""
    names = list(CASES)[turn::2][:20]
    alone = {name: [masks_along(CASES[name].compile(), path) for path in paths(name)] for name in names}
    shared = {name: CASES[name].compile(limits=LITTLE if place % 2 else None) for place, name in enumerate(names)}

    def work(seed: int) -> None:
        rng = random.Random(8 * turn + seed)
        for _ in range(25):
            name = rng.choice(names)
            number = rng.randrange(len(alone[name]))
            assert masks_along(shared[name], paths(name)[number]) == alone[name][number], (name, number)

    in_threads(work)


SHAPES = {
    "undeclared keys": case({"type": "object"}, **ANY),
    "declared first": case({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_texts_of_one_shape_share_rows(name: str) -> None:
    """Names and strings differ from text to text; the rows are those of the first."""
    rng, constraint, counts = random.Random(name), SHAPES[name].compile(), []
    for _ in range(50):
        names = ["z" + "".join(rng.choice("xyzw") for _ in range(5)) + str(place) for place in range(3)]
        words = ["".join(rng.choice("klmno ") for _ in range(rng.randint(3, 9))) for _ in range(3)]
        text = '{"a": 12, ' + ", ".join(f'"{key}": "{word}"' for key, word in zip(names, words, strict=True)) + "}"
        masks_along(constraint, list(text.encode()))
        epoch = epoch_of(constraint.matcher())
        counts.append(int(epoch.store[Store.COUNT] + epoch.program.tables.store[Store.COUNT]))
    assert counts[0] > 0
    assert counts[1] == counts[-1], counts


def test_a_long_array() -> None:
    """Ten thousand items take the rows of the first ones, and memory that grows with the text alone."""
    constraint = case({"type": "array", "items": {"type": "integer"}, "minItems": 3}).compile()
    matcher = constraint.matcher()
    assert matcher.advance(IDS[b"["])
    seen = []
    for _ in range(10_000):
        assert matcher.advance(IDS[b"1,"])
        seen.append(row(matcher))
    assert len(set(seen[3:])) == 1
    assert matcher.advance(IDS[b"1]"])
    assert matcher.is_accepting
    assert constraint.nbytes < 2 << 20
    matcher.rollback(10_000)
    assert row(matcher) == seen[0]


def test_many_keys() -> None:
    """Thousands of names are remembered: none comes again, and one that was rolled back does."""
    constraint = case({"type": "object", "additionalProperties": {"type": "integer"}}, **ANY).compile()
    matcher = constraint.matcher()
    assert matcher.advance(IDS[b"{"])
    for number in range(2_500):
        assert matcher.advance_bytes(f'"k{number}":'.encode())
        assert matcher.advance(IDS[b"1,"])
    for key in ("k0", "k1249", "k2499"):
        assert not matcher.advance_bytes(f'"{key}"'.encode())
        assert matcher.advance_bytes(f'"{key}'.encode())
        assert IDS[b'"'] not in allowed_ids(matcher, VOCAB)
        assert IDS[b'":'] not in allowed_ids(matcher, VOCAB)
        assert IDS[b"0."] in allowed_ids(matcher, VOCAB)
        matcher.rollback(1)
    matcher.rollback(2)
    assert matcher.advance_bytes(b'"k2499"')
    matcher.rollback(1)
    assert matcher.advance_bytes(b'"k2500":1}')
    assert matcher.is_accepting
    assert constraint.nbytes < 8 << 20


def test_many_items_that_must_differ() -> None:
    constraint = case({"type": "array", "uniqueItems": True, "items": {"type": "string"}}).compile()
    matcher = constraint.matcher()
    assert matcher.advance(IDS[b"["])
    for number in range(1_000):
        assert matcher.advance_bytes(f'"k{number}",'.encode())
    assert not matcher.advance_bytes(b'"k500"')
    assert not matcher.advance_bytes(b'"\\u006b0"')
    assert matcher.advance_bytes(b'"k1000"]')
    assert matcher.is_accepting


REAL = {
    "record": (
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
            "required": ["name"],
        },
        {},
        '{"name": "Zoë", "age": 12, "x": null}',
    ),
    "list, any order": (
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "additionalProperties": {"type": "string"},
            },
        },
        ANY,
        '[{"k": "v", "id": 1}, {"id": 23}]',
    ),
    "strings": (
        {
            "type": "array",
            "items": {"anyOf": [{"format": "date", "type": "string"}, {"type": "string", "maxLength": 6}]},
        },
        {},
        '["2020-02-29", "ab\\u00e9c"]',
    ),
}


@pytest.fixture(scope="module")
def llama() -> gl.Vocabulary:
    return gl.Vocabulary.from_tokenizer(FOLDER / "tokenizers" / "llama3_1")


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_every_token_of_a_real_vocabulary(name: str, llama: gl.Vocabulary) -> None:
    schema, options, text = REAL[name]
    assert json.loads(text) is not None
    matcher = gl.compile(gl.JsonSchema(schema, **options), llama).matcher()
    mask, places = gl.allocate_mask(1, llama.size), {round(i * (len(text) - 1) / 5) for i in range(6)}
    for place, byte in enumerate(text.encode()):
        matcher.fill_mask(mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
        if place in places:
            taken = []
            for token in range(llama.size):
                if matcher.advance(token):
                    taken.append(token)
                    matcher.rollback(1)
            differing = set(taken) ^ set(np.flatnonzero(bits).tolist())
            assert not differing, f"{text[:place]!r}: {[llama.token_bytes(t) for t in sorted(differing)[:9]]}"
        assert matcher.advance_bytes(bytes([byte]))
    assert matcher.is_accepting
