"""The JSON machine keeps counters and sets in frames next to its states; its rows must depend on no more of them than they need.

Three laws. Texts of one shape need the rows of the first few, whatever names, values, counts and nestings come after them. A row is
a function of its key: made at another place that has the same key it is the same, number by number. And a row that was made at one
place is right at another: with the first one's rows the second one's mask is what brute force says, every token read on its own.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.layout.json import At, Store
from grammarlm.layout.json_calls import KEY_WORDS
from grammarlm.masks.machines.json.vocabulary.tables import SERIALS
from tests.counts import record_counts, tiers
from tests.internals import epoch_of
from tests.laws.laws import allowed_ids
from tests.masks.machines.json.json_cases import ANY, CASES, IDS, LONGEST, Case, case, taken_ids
from tests.real_data import SMALL_AND_LARGE

Row = tuple[int, ...]
Place = tuple[gl.Matcher, bytes]

FIRST = 8  # one text and others like it, see below
RECORD = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 10, "maximum": 99999},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 40}, "maxItems": 6},
        "sizes": {"type": "array", "items": {"type": "number", "multipleOf": 0.5}, "minItems": 1, "uniqueItems": True},
    },
    "required": ["id"],
    "additionalProperties": {"type": ["string", "number"], "maxLength": 1000},
    "minProperties": 2,
    "maxProperties": 9,
}
EDGES = [10, 19, 98, 99, 100, 109, 989, 998, 999, 1000, 9899, 9989, 9999, 10000, 89999, 98999, 99899, 99989, 99998]
RECORDS = {"type": "array", "items": RECORD, "minItems": 2, "maxItems": 9}
TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "left": {"$ref": "#/$defs/tree"},
                "leaves": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "additionalProperties": {"type": "string", "minLength": 1},
            "minProperties": 1,
        }
    },
    "$ref": "#/$defs/tree",
}


def name(rng: random.Random) -> str:
    return "z" + "".join(rng.choice("abcxyz019") for _ in range(rng.randint(1, 9)))


def record(rng: random.Random, number: int | None = None) -> dict[str, Any]:
    """How many items and other keys it has differs, and so do all names and values."""
    return {
        "id": rng.randint(10, 99999) if number is None else number,
        "tags": [name(rng) for _ in range(rng.randint(0, 6))],
        "sizes": rng.sample([i / 2 for i in range(20, 400)], rng.randint(1, 5)),
        **{name(rng) + str(i): name(rng) for i in range(rng.randint(0, 3))},
        **{name(rng) + str(i): rng.randint(0, 9999) for i in range(3, rng.randint(3, 6))},
    }


def records(rng: random.Random) -> list[dict[str, Any]]:
    return [record(rng) for _ in range(rng.randint(2, 9))]


def first_records(rng: random.Random) -> list[Any]:
    """Digits that follow a bound have rows of their own."""
    return [records(rng) for _ in range(6 * FIRST)] + [[record(rng, edge), record(rng, edge + 1)] for edge in EDGES]


def tree(rng: random.Random, depth: int = 4) -> dict[str, Any]:
    """Nested in any order."""
    inner: dict[str, Any] = {}
    if depth and rng.random() < 0.6:
        inner["left"] = tree(rng, depth - 1)
    if depth and rng.random() < 0.7:
        inner["leaves"] = [tree(rng, depth - 1) for _ in range(rng.randint(0, 2))]
    return inner | {name(rng) + str(i): name(rng) for i in range(rng.randint(1, 3))}


def anything(rng: random.Random, depth: int = 4) -> Any:
    kind = rng.randint(0, 3 if depth else 1)
    if kind == 0:
        return name(rng)
    if kind == 1:
        return rng.choice([rng.randint(-99, 9999), rng.randint(0, 999) / 8, True, False, None])
    if kind == 2:
        return [anything(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {name(rng) + str(i): anything(rng, depth - 1) for i in range(rng.randint(0, 3))}


# Numbers that are the whole text, of which few are drawn: as many digits before and behind the point as `anything` writes.
ALONE = [7, -99, 4321, 0.5, 0.25, 0.125, 3.5, 3.25, 3.875, 62.5, 62.25, 62.125, 124.0, 124.5, 124.25, 124.875]

# A schema, the first texts, which have all that the shape can meet, and one more text.
SHAPES: dict[str, tuple[Any, Callable[[random.Random], list[Any]], Callable[[random.Random], Any]]] = {
    "records": (RECORDS, first_records, records),
    "nestings": (TREE, lambda rng: [tree(rng) for _ in range(3 * FIRST)], tree),
    "anything": (True, lambda rng: [*(anything(rng) for _ in range(5 * FIRST)), *ALONE], anything),
}
PUNCTUATION = [(",", ":"), (", ", ": ")]


def text_of(value: Any, rng: random.Random) -> str:
    return json.dumps(value, separators=rng.choice(PUNCTUATION))


class Rows:
    """What an epoch keeps, and the kept rows by their keys."""

    def __init__(self, matcher: gl.Matcher):
        self.epoch: Any = epoch_of(matcher)
        self._tables: Any = self.epoch.program.tables

    def count(self) -> int:
        """Rows, and marks that send to another key."""
        return int(self.epoch.store[Store.COUNT]) + int(self._tables.store[Store.COUNT])

    def forget(self) -> None:
        self._tables.clear_rows()
        self.epoch.forget_rows()
        self.epoch.arena[At.SERIAL] = next(SERIALS)  # and masks that are kept whole

    def fresh(self) -> int:
        """How many rows have been made, kept or not."""
        return int(self.epoch.arena[At.FRESH])

    def by_key(self) -> dict[tuple, Row]:
        """The number of the store, and the key, of each row; the row: base, exceptions, crossings, remainders, filter."""
        found = {}
        stores = (self.epoch._table, self.epoch._pool), (self._tables.shared_table, self._tables.pool)
        for store, (table, pool) in enumerate(stores):
            for line in table[table[:, KEY_WORDS] >= 0].tolist():
                at = line[KEY_WORDS]
                _, exceptions, crossings, _, filtered = pool[at : at + 5].tolist()
                length = 5 + 2 * exceptions + 4 * crossings + filtered
                found[(store, *line[:KEY_WORDS])] = tuple(pool[at : at + length].tolist())
        return found


def check_shape(shape: str, vocabulary: str, texts: int) -> Counter[str]:
    """Reads the first texts byte by byte, then others by tokens; what was read, and how many rows are kept."""
    schema, first, more = SHAPES[shape]
    vocab = gl.Vocabulary.from_tokenizer(SMALL_AND_LARGE[vocabulary])
    constraint = gl.compile(gl.JsonSchema(schema, **ANY), vocab)
    rng, mask = random.Random(shape), gl.allocate_mask(1, vocab.size)
    rows = Rows(constraint.matcher())
    rows.forget()
    for value in first(rng):
        matcher = constraint.matcher()
        matcher.fill_mask(mask)
        for byte in text_of(value, rng).encode():
            assert matcher.advance_bytes(bytes([byte]))
            matcher.fill_mask(mask)
        assert matcher.is_accepting
    known, entries, kept, tokens = rows.by_key(), rows.count(), constraint.nbytes, 0
    for _ in range(texts):
        text = text_of(more(rng), rng)
        matcher = constraint.matcher()
        for token in vocab.encode(text):
            matcher.fill_mask(mask)
            assert matcher.advance(token), (text, token)
            tokens += 1
        matcher.fill_mask(mask)
        assert matcher.is_accepting, text
        assert epoch_of(matcher) is rows.epoch
        assert rows.count() == entries, f"a row that no text before had: {text}: {set(rows.by_key()) - set(known)}"
    assert tokens >= 10 * texts
    return Counter(
        {"cases": texts, "tokens": tokens, "rows": len(known), "marks": entries - len(known), "bytes kept": kept}
    )


@pytest.mark.parametrize("shape", SHAPES)
@tiers("vocabulary, texts", ("embedded", 10), *((vocabulary, 100) for vocabulary in SMALL_AND_LARGE))
def test_texts_of_one_shape_share_their_rows(shape: str, vocabulary: str, texts: int, record_property: Any) -> None:
    record_counts(record_property, check_shape(shape, vocabulary, texts))


def test_the_law_notices_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts with a nesting that the first ones do not have."""
    monkeypatch.setitem(SHAPES, "deeper", (True, lambda rng: [["a"]] * 3, lambda rng: [{"a": ["b"] * 9}]))
    with pytest.raises(AssertionError, match="a row that no text before had"):
        check_shape("deeper", "embedded", 1)


def places(a_case: Case, seed: str) -> Iterator[Place]:
    """Where walks come that follow the valid texts of a case for a while, by random tokens, then go their own way."""
    constraint = a_case.compiled()
    for number, text in enumerate(a_case.texts):
        data, rng = text.encode(), random.Random(f"{seed} {number}")
        for leave in (len(data), rng.randint(0, len(data)), rng.randint(0, len(data))):
            matcher, read, at = constraint.matcher(), b"", 0
            for step in range(leave + 10):
                yield matcher.fork(), read
                if step < leave and at < len(data):
                    ends = [end for end in range(at + 1, min(len(data), at + LONGEST) + 1) if data[at:end] in IDS]
                    end = rng.choice(ends)
                    token, at = IDS[data[at:end]][0], end
                else:
                    ids = sorted(allowed_ids(matcher, constraint.vocab) - set(constraint.vocab.stop_ids))
                    if step < leave or not ids:
                        break
                    token = rng.choice(ids)
                assert matcher.advance(token)
                read += constraint.vocab.token_bytes(token)


def check_rows(a_case: Case, seed: str) -> Counter[str]:
    """The second and third law, over the places of walks."""
    first: dict[tuple, tuple[Row, bytes]] = {}
    outcomes: Counter[str] = Counter()
    mask = gl.allocate_mask(1, a_case.compiled().vocab.size)
    others: list[Place] = []
    rng = random.Random(seed)
    for matcher, read in places(a_case, seed):
        rows = Rows(matcher)
        if others and epoch_of(others[-1][0]) is not rows.epoch:
            first, others = {}, []  # numbers mean nothing to another generation
        rows.forget()
        matcher.fill_mask(mask)
        made = rows.by_key()
        for key, row in made.items():
            known, before = first.setdefault(key, (row, read))
            assert row == known, f"{a_case}\nrow {key} is another after {read!r} than after {before!r}"
        expected = taken_ids(matcher)
        for other, text in rng.sample(others, min(2, len(others))):
            rows.forget()
            other.fill_mask(mask)
            count = rows.count()
            allowed = allowed_ids(matcher, a_case.compiled().vocab)
            assert allowed == expected, f"{a_case}\nafter {read!r}, with the rows made after {text!r}"
            outcomes["pairs"] += 1
            outcomes["pairs of equal keys"] += rows.count() == count and bool(made)
        outcomes["places"] += 1
        others.append((matcher, read))
    return outcomes + Counter({"rows": len(first)})


MORE = {
    "a record": case(RECORD, *(json.dumps(record(random.Random(i)), separators=(",", ":")) for i in range(3)), **ANY),
    "a tree": case(TREE, *(json.dumps(tree(random.Random(i), 2), separators=(",", ":")) for i in range(3)), **ANY),
}
ALL = CASES | MORE


@pytest.mark.parametrize("name", list(ALL)[:: max(1, len(ALL) // 8)] + list(MORE))
def test_a_row_is_what_its_key_says(name: str) -> None:
    check_rows(ALL[name], "few")


@pytest.mark.proof
def test_all_rows_are_what_their_keys_say(record_property: Any) -> None:
    outcomes: Counter[str] = Counter()
    for name, a_case in ALL.items():
        for seed in range(5):
            outcomes += check_rows(a_case, f"many {name} {seed}")
    record_counts(record_property, outcomes)
    assert outcomes["pairs of equal keys"] >= 1000, outcomes
