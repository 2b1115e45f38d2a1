"""out.fields: each scalar and each part with the tokens that begin in it, against a JSON reader of its own and tokens told apart by
hand; every token belongs to one field or to the text between."""

import copy
import dataclasses
import itertools
import json
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.decoding.answers.fields import Region, fields_of, scalars
from tests.counts import tiers
from tests.decoding.planted import Planted, noise
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import RandomSchemas

torch = pytest.importorskip("torch")

BYTES = [bytes([byte]) for byte in range(256)]
LONGER = [
    b'":',
    b'", "',
    b'{"',
    b'"}',
    b'":"',
    b'a"',
    b'"a',
    b"1,",
    b"}, ",
    b"12",
    b"tru",
    b"e}",
    b" [",
    b"[]",
    b'\\"',
    b"=a",
    b"x;",
]
PIECES = [*BYTES, *LONGER]
END, MARK = len(PIECES), len(PIECES) + 1
VOCAB = gl.Vocabulary([*PIECES, b"</s>", b"<mark>"], stop_ids=[END], special_ids=[END, MARK])
PROMPT = [65]
Place = tuple[tuple[Any, ...], int, int]


def read(text: str, at: int = 0, path: tuple[Any, ...] = ()) -> tuple[int, list[Place]]:
    """By recursive descent over characters, json's own decoder for each scalar: (end, the places of fields)."""

    def skip(at: int) -> int:
        while text[at : at + 1] in (" ", "\n", "\t", "\r"):
            at += 1
        return at

    at = skip(at)
    if text[at] not in "{[":
        _, end = json.JSONDecoder().raw_decode(text, at)
        return end, [(path, at, end)]
    begin, is_object, found = at, text[at] == "{", list[Place]()
    at = skip(at + 1)
    for index in itertools.count():
        if text[at] in "}]":
            return at + 1, found if index else [(path, begin, at + 1)]
        step: Any = index
        if is_object:
            step, at = json.JSONDecoder().raw_decode(text, at)
            at = skip(at) + 1
        at, inner = read(text, at, (*path, step))
        found += inner
        at = skip(at)
        at = skip(at + 1) if text[at] == "," else at
    raise AssertionError


def in_bytes(text: str, places: list[Place]) -> list[tuple[tuple[Any, ...], tuple[int, int]]]:
    return [(path, (len(text[:start].encode()), len(text[:end].encode()))) for path, start, end in places]


def written(value: Any, rng: random.Random) -> str:
    """In a random layout."""
    return json.dumps(
        value,
        ensure_ascii=rng.random() < 0.5,
        indent=rng.choice([None, None, 0, 2, "\t"]),
        separators=rng.choice([None, (",", ":"), (" , ", " :")]),
    )


@tiers("seed, count", (0, 40), *((seed, 40) for seed in range(1, 26)))
def test_the_places_of_random_values(seed: int, count: int) -> None:
    rng, schemas, met = random.Random(seed), RandomSchemas(f"places {seed}"), 0
    for _ in range(count):
        schema = schemas.schema()
        for value, _ in near(schema, Judge(schema), rng, wanted=4, tries=20):
            try:
                text = written(value, rng)
            except (TypeError, ValueError):  # a Decimal
                continue
            met += 1
            data, places = text.encode(errors="surrogatepass"), in_bytes(text, read(text)[1])
            assert list(scalars(data, True)) == places
            cut = rng.randrange(len(data) + 1)
            ended = [
                (path, span)
                for path, span in places
                if span[1] < cut or (span[1] == cut and data[cut - 1 : cut] in b'"}]el')
            ]
            assert list(scalars(data[:cut], False)) == ended
    assert met > count


def splits(text: bytes) -> Iterator[list[bytes]]:
    for cuts in itertools.product((False, True), repeat=len(text) - 1):
        ends = [at for at, is_cut in enumerate(cuts, 1) if is_cut]
        yield [text[a:b] for a, b in itertools.pairwise([0, *ends, len(text)])]


@pytest.mark.parametrize("text", ['{"a":"","b":[1]}', '["x\\"",{},-2 ]', '{"a" : "é"}', "12", '""'])
def test_every_split_of_tokens_over_quotes_and_brackets(text: str) -> None:
    data, places = text.encode(), in_bytes(text, read(text)[1])
    rng = random.Random(text)
    every = splits(data) if len(data) < 13 else itertools.islice((split(data, rng) for _ in itertools.count()), 3000)
    for pieces in every:
        logprobs = [-float(2**at) for at in range(len(pieces))]  # each sum tells its tokens
        fields = fields_of(pieces, [Region((), (0, len(data)), range(len(pieces)), True)], logprobs, logprobs)
        begins = [0, *itertools.accumulate(map(len, pieces))][:-1]
        for path, (start, end) in places:
            own = [at for at, begin in enumerate(begins) if start <= begin < end]
            field = fields[path]
            assert (field.span, list(field.tokens)) == ((start, end), own)
            assert field.logprob == field.model_logprob == sum(logprobs[at] for at in own)
        assert [field.path for field in fields] == [path for path, _ in places]


def split(data: bytes, rng: random.Random) -> list[bytes]:
    ends = sorted(rng.sample(range(1, len(data)), rng.randrange(len(data))))
    return [data[a:b] for a, b in itertools.pairwise([0, *ends, len(data)])]


def spelled(text: bytes, rng: random.Random) -> list[int]:
    ids: list[int] = []
    while text:
        fitting = [number for number, piece in enumerate(PIECES) if text.startswith(piece)]
        ids.append(max(fitting, key=lambda id: len(PIECES[id])) if rng.random() < 0.5 else rng.choice(fitting))
        text = text[len(PIECES[ids[-1]]) :]
    return ids


def answer(ids: list[int], seed: int = 0, **options: Any) -> gl.Result:
    model = Planted(noise(VOCAB.size, seed), {tuple(PROMPT): [*ids, END]}, lift=30)
    return gl.generate(model, PROMPT, vocab=VOCAB, **options)


def check_sums(out: gl.Result) -> None:
    """Every token is in one field at most, and the figures of a field are those of its tokens."""
    held = [at for field in out.fields for at in field.tokens]
    assert len(held) == len(set(held))
    assert set(held) <= set(range(len(out.tokens)))
    for name in ("logprob", "model_logprob"):
        each = getattr(out, f"{name}s")
        between = sum(each[at] for at in range(len(each)) if at not in set(held))
        assert sum(getattr(field, name) for field in out.fields) + between == pytest.approx(sum(each))
        for field in out.fields:
            assert getattr(field, name) == pytest.approx(sum(each[at] for at in field.tokens))


@tiers("seed, count", (0, 12), *((seed, 40) for seed in range(1, 26)))
@pytest.mark.filterwarnings("ignore::grammarlm.errors.SchemaWarning")
def test_answers_under_random_schemas(seed: int, count: int) -> None:
    rng, schemas, met, whole = random.Random(seed), RandomSchemas(f"fields {seed}"), 0, 0
    while met < count:
        schema = schemas.schema()
        value = next(
            (value for value, is_valid in near(schema, Judge(schema), rng, wanted=2, tries=20) if is_valid), None
        )
        grammar = gl.JsonSchema(schema, whitespace="any", property_order="any")
        try:
            text = written(value, rng)
            matcher = gl.compile(grammar, VOCAB).matcher()
        except (TypeError, ValueError):
            continue
        ids = spelled(text.encode(), rng)
        if not ids or not all(matcher.advance(id) for id in ids) or not matcher.is_accepting:
            continue
        met += 1
        out = answer(ids, grammar=grammar, close=False, max_tokens=len(ids) + rng.choice([1, 1, -1]) or 1)
        check_sums(out)
        if out.finish_reason == "stop" and out.tokens == ids:
            whole += 1
            begins = [0, *itertools.accumulate(len(PIECES[id]) for id in ids)][:-1]
            expected = {
                path: (span, [at for at, begin in enumerate(begins) if span[0] <= begin < span[1]])
                for path, span in in_bytes(text, read(text)[1])
            }
            assert {field.path: (field.span, list(field.tokens)) for field in out.fields} == expected
    assert whole > count // 4


WORD = gl.Regex("[a-z]{1,4}")
LINE = gl.JsonSchema({"type": "object", "properties": {"w": {"type": "string"}}, "required": ["w"]}, whitespace="any")
MARKED = "<mark>"
PARTS: dict[str, tuple[Any, list[int | bytes], dict[Any, tuple[bytes, int]]]] = {
    # grammar, tokens, and of each field its text and the first token that begins in it
    "words": (
        gl.Capture("a", WORD) + "=" + gl.Capture("b", WORD),
        [b"x", b"=a", b"a"],
        {("a",): (b"x", 0), ("b",): (b"aa", 2)},
    ),
    "several": (
        gl.Repeat(gl.Capture("w", WORD), 1, 3, ";"),
        [b"x;", b"a", b";", b"b"],
        {("w", 0): (b"x", 0), ("w", 1): (b"a", 1), ("w", 2): (b"b", 3)},
    ),
    "nested": (
        gl.Capture("all", gl.Capture("k", WORD) + "=" + gl.Capture("v", WORD)),
        [b"a", b"=", b"b"],
        {("k",): (b"a", 0), ("v",): (b"b", 2)},
    ),
    "a schema beside a part": (
        gl.Capture("k", WORD) + "=" + LINE,
        [b"a", b"=", b'{"', b"w", b'":"', b"x", b'"}'],
        {("k",): (b"a", 0), ("w",): (b'"x"', 5)},
    ),
    "a schema in a part": (
        gl.Capture("k", "=" + LINE) + gl.Capture("w", WORD),
        [b"=", b'{"', b"w", b'":', b'"a', b'"}', b"a"],
        {("k", "w"): (b'"a"', 4), ("w",): (b"a", 6)},
    ),
    "two of one name": (
        gl.Capture("w", WORD) + "=" + LINE,
        [b"a", b"=", b'{"', b"w", b'":', b'"a', b'"}'],
        {("w",): (b"a", 0), (None, "w"): (b'"a"', 5)},
    ),
    "special tokens": (
        gl.Token(MARKED) + gl.Capture("k", gl.Token(MARKED) + WORD) + gl.Token(MARKED),
        [MARK, MARK, b"a", b"b", MARK],
        {("k",): (b"ab", 1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    grammar, tokens, expected = PARTS[name]
    ids = [token if isinstance(token, int) else PIECES.index(token) for token in tokens]
    out = answer(ids, grammar=grammar, close=False)
    assert out.tokens == ids
    check_sums(out)
    data = b"".join(b"" if id == MARK else PIECES[id] for id in ids)
    found = {field.path: (data[slice(*field.span)], field.tokens.start) for field in out.fields}
    assert found == expected
    for part in out.parts:
        if (part.name,) in out.fields:
            assert out.fields[part.name].span == part.span


def test_what_a_path_may_be() -> None:
    out = answer(spelled(b'{"a":[1,{"b":null}]}', random.Random(1)), schema={"type": "object"}, close=False)
    assert [field.path for field in out.fields] == [("a", 0), ("a", 1, "b")]
    one = answer(spelled(b'{"a":12}', random.Random(2)), schema={"type": "object"}, close=False)
    assert one.fields["a"] is one.fields[("a",)]
    assert "a" in one.fields
    assert "b" not in one.fields
    assert json.loads(json.dumps(dataclasses.asdict(one)))["fields"][0]["path"] == ["a"]
    assert one.text.encode()[slice(*one.fields["a"].span)] == b"12"
    with pytest.raises(KeyError, match=r"no field 'b'; there are \[\('a',\)\]"):
        _ = one.fields["b"]
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other.fields == one.fields
    assert answer([65, 66], max_tokens=2).fields == []
    assert answer(spelled(b"true", random.Random(0)), schema={"type": "boolean"}).fields[()].span == (0, 4)


def test_healed_prompts_and_stops() -> None:
    model, _ = gl.load_tiny()
    out = gl.generate(
        model, 'Count 15 minutes.\n{"function":"set_ti', heal=True, grammar=gl.Capture("f", gl.Regex("[a-z]+"))
    )
    assert out.fields["f"].tokens == range(len(out.tokens))
    ids = spelled(b'{"a":12} ', random.Random(2))
    stopped = answer(ids, stop=" ", grammar=gl.JsonSchema({"type": "object"}, whitespace="any"), close=False)
    assert stopped.text == '{"a":12}'
    check_sums(stopped)
    assert stopped.fields["a"].span == (5, 7)
