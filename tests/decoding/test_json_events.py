"""The reader of JSON events: whatever the chunks are, what it tells is what json.loads reads."""

import json
import random
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammarlm.decoding.answers.events import Event
from grammarlm.decoding.answers.json_events import JsonEvents
from tests.decoding.json_rebuilding import rebuilt
from tests.oracles.json_spellings import spellings, usual_spellings

TEXTS = [
    "{}", "[]", '""', "0", "-0", "-0.0", "12", "1e5", "1E+05", "-1.5e-3", "1e999", "true", "false", "null", " 7 ", '\t[\n{ } ]\r\n',
    '{"a":1,"a":{"b":[]},"":""}', '[[[]],{},[{}],[1,[2,[3]]]]', r'"\"\\\/\b\f\n\r\t"', r'"\u00e9\ud83d\ude00é😀"',
    r'["\ud800","\udc00","\ud800\ud800\udc00x","\ud83dx","\ud83d\n","\ude00\ud83d","\uD83D\uDE00"]', r'{"\ud83d\ude00":"\u0000"}',
    '{"k": true, "l": [false, null, 1.0, "x"]}', '{"a\\u0062": {"é": "ü\u2028"}, "c": -12.5E1}', "[" * 200 + "]" * 200,
    '[123456789012345678901234567890, 0.1234567890123456789, 5e-324]',
]  # fmt: skip
BROKEN = [
    "", " ", "{", "[", '"', '"\\', '"\\u12', "-", "1.", "1.e5", "01", "-a", "1e", "+1", ".5", "tru", "truex", "nul", "[1,]", "[,1]",
    '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", "{,}", "[1 2]", '{"a":1 "b":2}', "]", "}", "[}", "{]", "1 2", "{} {}", '"\n"', '"\x00"',
    r'"\x"', r'"\u12g4"', "'a'", "//", "[1]]", "\ufeff1", "\xa01", "1-2", "1e5e5", "--1", "tru e",
]  # fmt: skip


def chunked(data: bytes, rng: random.Random) -> list[bytes]:
    """The bytes in chunks: single ones, a few at a time, or long ones, empty ones too."""
    longest = rng.choice([1, 2, 3, 8, 64, len(data) + 1])
    chunks = []
    while data:
        size = rng.randint(0 if rng.random() < 0.1 else 1, longest)
        chunks.append(data[:size])
        data = data[size:]
    return chunks


def read(chunks: list[bytes]) -> list[Event]:
    reader = JsonEvents()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def without_cuts(events: list[Event]) -> list[tuple]:
    """The events, the chunks of a string as one."""
    merged: list[tuple] = []
    for event in events:
        if event.kind == "string" and merged and merged[-1][:2] == ("string", event.path):
            merged[-1] = ("string", event.path, merged[-1][2] + event.chunk)
        else:
            merged.append((event.kind, event.path, event.chunk or repr(event.value)))
    return merged


def check(text: str, rng: random.Random, times: int) -> None:
    data, want = text.encode(), repr(json.loads(text))
    whole = without_cuts(read([data]))
    for _ in range(times):
        events = read(chunked(data, rng))
        assert repr(events[-1].value) == want
        assert events[-1].path == ()
        assert repr(rebuilt(events)) == want
        assert without_cuts(events) == whole


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_told_is_what_json_loads_reads(text: str) -> None:
    check(text, random.Random(text), 12)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e12, 1e12).map(lambda x: round(x, 6)) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.integers(0, 2**32))
def test_any_value_in_any_spelling_and_chunks(value: Any, seed: int) -> None:
    rng = random.Random(seed)
    for text in (*usual_spellings(value)[2:4], spellings(value, rng, 0.8)):
        check(text, rng, 2)


@pytest.mark.proof
def test_a_thousand_chunkings_of_each_text(record_property) -> None:
    rng = random.Random(8)
    texts = [*TEXTS, *(spellings(random_value(rng, 4), rng, 0.5) for _ in range(60))]
    for text in texts:
        check(text, rng, 1_000)
    record_property("cases", 1_000 * len(texts))


def random_value(rng: random.Random, depth: int) -> Any:
    if depth and rng.random() < 0.7:
        size = rng.randint(0, 5)
        if rng.random() < 0.5:
            return [random_value(rng, depth - 1) for _ in range(size)]
        return {word(rng): random_value(rng, depth - 1) for _ in range(size)}
    return rng.choice([None, True, False, rng.randint(-(10**9), 10**20), rng.uniform(-1, 1), word(rng), word(rng) * 9])


def word(rng: random.Random) -> str:
    return "".join(rng.choice('aZ0 "\\/\n\té€😀\u0000\u2028\uffff') for _ in range(rng.randint(0, 9)))


@pytest.mark.parametrize("text", BROKEN)
def test_what_json_loads_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json.loads(text)
    for seed in range(4):
        with pytest.raises(ValueError, match="JSON"):
            read(chunked(text.encode(), random.Random(seed)))


def strict(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def test_texts_with_one_change_are_refused_exactly_where_json_loads_refuses_them() -> None:
    rng, refused = random.Random(5), 0
    for _ in range(1_000):
        text = list(spellings(random_value(rng, 3), rng, 0.4))
        at = rng.randrange(len(text))
        text[at : at + rng.randint(0, 1)] = rng.choice(
            ['"', ",", ":", "[", "}", "\\", "0", "-", "e", ".", "t", " ", "\x1f", ""]
        )
        changed = "".join(text)
        try:
            want = repr(json.loads(changed, parse_constant=strict))
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match=r".+"):
                read(chunked(changed.encode(), rng))
        else:
            assert repr(read(chunked(changed.encode(), rng))[-1].value) == want
    assert 300 < refused < 950


def test_characters_and_escapes_that_are_split_are_held_back() -> None:
    reader = JsonEvents()
    told = [
        [(e.kind, e.chunk) for e in reader.feed(chunk)]
        for chunk in (b'"a\xf0\x9f', b"\x98\x80b\\ud8", b"3d", b"\\ude", b"00c")
    ]
    assert told == [[("string", "a")], [("string", "😀b")], [], [], [("string", "😀c")]]
    with pytest.raises(ValueError, match="ends within a character"):
        read([b'"\xc3'])
    with pytest.raises(ValueError, match="utf-8"):
        read([b'"\xff"'])


def test_a_number_at_the_top_ends_with_the_text() -> None:
    reader = JsonEvents()
    assert [*reader.feed(b"1"), *reader.feed(b"2")] == []
    assert [event.value for event in reader.finish()] == [12]


def test_integers_longer_than_json_loads_takes() -> None:
    digits = "9" * 5_000
    with pytest.raises(ValueError, match="4300"):
        json.loads(digits)
    assert read([digits.encode()])[-1].value == Decimal(digits)


def test_where_the_text_stands() -> None:
    reader = JsonEvents()
    reader.feed(b'{"a": [1, {"b": "c')
    assert reader.linked_path == ((((None, "a"), 1), "b"))
    reader.feed(b'"}], "d')
    assert reader.linked_path is None


def calls(data: bytes, size: int) -> int:
    """How many functions of Python's are called while the data are read in chunks of this size."""
    reader, count = JsonEvents(), 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        for start in range(0, len(data), size):
            reader.feed(data[start : start + size])
    finally:
        sys.setprofile(None)
    return count


def test_twice_the_bytes_are_twice_the_work() -> None:
    kinds: list[Any] = [
        lambda n: b'"' + b"a" * n,
        lambda n: b'"' + b"\\n" * n,
        lambda n: b"[" * n,
        lambda n: b'{"a":' * n,
        lambda n: b"[" + b"1," * n,
        lambda n: b"1" * n,
        lambda n: b" " * n,
        lambda n: b'{"' + b"k" * n,
        lambda n: b'{"' + b'k":1,"' * n,
    ]
    for kind in kinds:
        for size in (1, 7):
            once, twice = calls(kind(500), size), calls(kind(1_000), size)
            assert twice <= 2.05 * once, kind(3)
