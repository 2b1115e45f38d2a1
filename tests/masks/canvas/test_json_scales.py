"""Schemas of too many states against enumeration: objects and arrays that are there once for all counts around them, and strings of
a language without the escapes that no character of them needs."""

import re
from functools import lru_cache

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.canvas import Canvas
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.places import Places
from grammarlm.masks.canvas.json.scales import Scale, scales_of
from tests.internals import last_row_of, program_of
from tests.masks.canvas.canvas_law import Case, check_edges, check_fills, check_rows, ids_in, matching, partials
from tests.masks.canvas.json_cases import case, like, pairs

SHARED = {
    "arrays in an array": (
        lambda: case({"type": "array", "minItems": 2, "maxItems": 5,
                      "items": {"type": "array", "items": {"const": None}, "maxItems": 5}},
                     [b"[[", b"]]", b"],", b"],[", b"[null", b"]]]", b"null,"], b"[],nul",
                     like(r"\[?(\[((null,)*n?u?l?l?)\]?,?)*\]?")),
        (4, 5),
    ),
    "objects in an array": (
        lambda: case({"type": "array", "maxItems": 5,
                      "items": {"type": "object", "properties": {"a": {"const": None}}, "additionalProperties": False}},
                     [b'{"a":null}', b'{"a', b"{}", b"},", b"]", b",{}"], b'[{}]",:anul\\0061',
                     like(r'\[?(\{("(a|\\(u(0(0(61?)?)?)?)?)?("(:(n(u(l(l)?)?)?)?)?)?)?\}?,?)*\]?')),
        (3, 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_what_counted_arrays_share(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(shares=True),))
    make, lengths = SHARED[name]
    at = make()
    for length in lengths:
        assert check_rows(at, length, 14) > 0
    check_fills(at, lengths[-1], 4)
    check_edges(at, lengths[-1], 2)


PAIRS = {
    "{": '"}',
    "}": "},",
    '"': ":abc\\",
    "abc": '"',
    "n": "u",
    "u": "l0",
    "l": "l},]",
    "\\": "u",
    "0": "06",
    "6": "123",
    "123": '"',
}
JOINED = {
    "objects in two places": (
        lambda: case({"$defs": {"o": {"type": "object", "properties": {"b": {"const": None}}, "additionalProperties": False}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "required": ["a"], "additionalProperties": False},
                     [b'{"a":', b'{"b":null}', b'"c":', b'{}}', b',"c"', b'null}}', b'{"a":{},', b'"c":{"b"'],
                     b'{}",:abcnul\\00613', pairs("{", {**PAIRS, ":": "{n", ",": '"'}), ("a", "c", "b")),
        (4,),
    ),
    "arrays around them": (
        lambda: case({"$defs": {"o": {"type": "array", "items": {"type": "array", "items": {"const": None}, "maxItems": 1}}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "additionalProperties": False},
                     [b'{"a":[', b"[[", b"[]", b"]]", b'],"c":', b"[null]", b"]}", b'{"a":[],', b',"c":[]'],
                     b'{}",:acnul[]\\0613', pairs("{", {**PAIRS, ":": "[", ",": '"[', "[": "[]n", "]": "],}"}), ("a", "c")),
        (4,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_what_stands_in_several_places(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(joins=True),))
    make, lengths = JOINED[name]
    at = make()
    for length in lengths:
        assert check_rows(at, length, 14) > 0
    check_fills(at, lengths[-1], 4)
    check_edges(at, lengths[-1], 2)


def places_of(schema: object) -> tuple[Places, list[int]]:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"."], [256])
    program = program_of(gl.compile(gl.JsonSchema(schema), vocab)).json
    return Places(program.rows, program.start), program.rows


def test_scales_that_make_no_difference_are_not_tried() -> None:
    word, deep = {"type": "string", "pattern": "^a*$"}, {"type": "object", "properties": {"a": {"const": 1}}}
    for _ in range(5):
        deep = {"type": "object", "properties": {"a": deep, "b": deep, "c": deep}, "additionalProperties": False}
    counted = {"type": "array", "maxItems": 9, "items": {"type": "array", "items": word}}
    assert scales_of(*places_of({"const": 1}), False) == (Scale(),)
    assert scales_of(*places_of(word), True) == (Scale(),)
    assert scales_of(*places_of(word), False) == (Scale(), Scale(is_plain=True))
    assert scales_of(*places_of(counted), False) == (Scale(), Scale(shares=True), Scale(shares=True, is_plain=True))
    assert scales_of(*places_of(deep), False) == (Scale(), Scale(shares=True, joins=True))


PATTERN = '^(a|\t|"|/){2,4}$'
ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
NEEDED = (b"\\t", b'\\"', b"\\\\")
FREE_KEYS = "beside free keys"  # with so few tokens more is known of these only
NEEDLESS = {
    "a pattern": (
        lambda: case({"type": "string", "pattern": PATTERN}, [b"\\t", b'"a', b'a"', b"\\u00", b"09", b"61", b"\\/", b'\\"'],
                     b'"a\\t/u01269Ff', like(r'("[a/\\t"u0-9Ff]*)?'),
                     oracle={"type": "string", "pattern": PATTERN[:-1] + "\\Z"}),
        (4, 5),
    ),
    "beyond ASCII": (
        lambda: case({"type": "string", "pattern": "^(\u00e9|x)+$"},
                     [b'"x', b'x"', b"\\u00", b"e9", b"E9", b"78", b"\\u", b"00", "\u00e9".encode(), b'78"', b'\\u0078"'],
                     b'"x\\u078eE9\xc3\xa9', lambda data: re.fullmatch(rb'("[x\\u078eE9\xc3\xa9]*"?)?', data) is not None),
        (4, 5),
    ),
    "or one of some words": (
        lambda: case({"type": "array", "maxItems": 2, "items": {"anyOf": [
                          {"type": "string", "pattern": "^x*$"}, {"enum": ["xy", "8"]}]}},
                     [b'["', b'"]', b'","', b"\\u007", b"8", b'9"', b'x"]', b'8","\\', b"xx"],
                     b'[]",xy\\u0789', like(r'\[?[\[\]",xy\\u0789]*')),
        (4,),
    ),
    FREE_KEYS: (
        lambda: case({"type": "object", "properties": {"a": {"type": "string", "pattern": "^x*$"}},
                      "patternProperties": {"^[bc]+$": {"const": 1}}, "additionalProperties": False},
                     [b'{"a":"', b'","', b'b":1}', b'b":1,"', b"\\u00", b"78", b'78","b":1', b'"}', b'c":1,"', b'c":1}'],
                     b'{"a:x\\u078,bc1}', like(r'\{?("?a?"?(:"?[x\\u078]*("[},"bc:1]*)?)?)?|\{["bc:1,}]*'), ("a",)),
        (5,),
    ),
}  # fmt: skip


def answered(canvas: Canvas, partial: list[int]) -> bool | None:
    """Can a row be completed? None: it is not decided."""
    try:
        return canvas.is_completable(partial)
    except gl.LimitExceeded:
        return None


@lru_cache(None)
def needless(texts: tuple[bytes, ...]) -> list[tuple[int, int, bool]]:
    """The tokens in which each escape begins and ends whose character needs none, and is its end that of a token?"""
    whole, ends = b"".join(texts), np.cumsum([len(text) for text in texts])
    return [
        (int(np.searchsorted(ends, one.start(), "right")), int(np.searchsorted(ends, one.end() - 1, "right")),
         one.end() in ends.tolist())
        for one in ESCAPE.finditer(whole) if one.group() not in NEEDED
    ]  # fmt: skip


def follows(texts: tuple[bytes, ...], partial: list[int], position: int | None) -> bool:
    """Begin such escapes in given tokens or at the position alone, and do they end before others, or with one?"""

    def are_given(first: int, last: int) -> bool:
        return all(at == position or partial[at] >= 0 for at in range(first, last + 1))

    def is_followed(begin: int, end: int, is_end: bool) -> bool:
        masked = next((at for at in range(begin, end + 1) if not are_given(at, at)), None)
        return masked is None or (
            masked > begin and is_end and all(not are_given(at, at) for at in range(masked, end + 1))
        )

    return all(is_followed(*escape) for escape in needless(texts))


@pytest.mark.parametrize("name", NEEDLESS)
def test_needless_escapes_begin_where_they_are_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is allowed completes a row, and is all that escapes which begin there or in given tokens do; where only others complete
    a row, no answer is given."""
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(is_plain=True),))
    make, lengths = NEEDLESS[name]
    at = make()
    known = {i for i, text in enumerate(at.tokens) if name != FREE_KEYS or b"\\" in text}
    refused = begun = 0
    for length in lengths:
        rows, canvas, rng = at.rows(length), at.constraint.canvas(length), np.random.default_rng(length)
        texts = [tuple(b"" if t in at.stop_ids else at.tokens[t] for t in row) for row in rows.tolist()]
        for partial in partials(at, rows, 25, rng):
            given = [i for i, token in enumerate(partial) if token >= 0]
            fitting = np.flatnonzero((rows[:, given] == np.array(partial, int)[given]).all(1))
            answer = answered(canvas, partial)
            assert answer is None or answer == (len(fitting) > 0), partial
            refused += answer is False
            if not answer:
                assert not any(follows(texts[row], partial, None) for row in fitting), partial
                continue
            is_open = bool(getattr(last_row_of(canvas), "opened", ()))
            allowed = canvas.allowed(partial)
            for i in range(length):
                if partial[i] < 0:
                    words, every = ids_in(allowed.row(i)), set(rows[fitting, i].tolist())
                    want = known & {int(rows[row, i]) for row in fitting if follows(texts[row], partial, i)}
                    assert words
                    have = words & known
                    assert have <= every, (partial, i, have - every)
                    assert is_open or have == want, (partial, i, have - want, want - have)
                    assert allowed.test(i, range(at.width)).tolist() == [t in words for t in range(at.width)]
                    begun += not have <= {int(rows[row, i]) for row in fitting if not needless(texts[row])}
                    for token in rng.choice(sorted(have), min(4, len(have)), replace=False).tolist():
                        check_filled(at, canvas, rows[fitting], [*partial[:i], token, *partial[i + 1 :]], rng)
    assert refused > 0
    assert begun > 0


def check_filled(at: Case, canvas: Canvas, rows: np.ndarray, partial: list[int], rng: np.random.Generator) -> None:
    """A row that was committed can be completed, and is filled in."""
    assert canvas.is_completable(partial), partial
    logits = rng.standard_normal((len(partial), at.width)).astype(np.float32)
    for filled in (canvas.fill(partial, logits), canvas.sample(partial, logits, seed=0)):
        assert (matching(rows, partial) == filled).all(1).any(), (partial, filled)


@pytest.mark.parametrize("name", NEEDLESS)
def test_what_follows_a_text_with_needless_escapes_is_what_a_matcher_allows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind given tokens alone, before masked ones: every token that a matcher allows and that leaves room for a text's end."""
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(is_plain=True),))
    at = NEEDLESS[name][0]()
    length, rng = 16, np.random.default_rng(0)
    canvas, mask, found = at.constraint.canvas(length), gl.allocate_mask(1, at.width), 0
    for _ in range(40):
        matcher, given = at.constraint.matcher(), list[int]()
        while len(given) < 8 and not matcher.is_finished:
            matcher.fill_mask(mask)
            have, want = ids_in(canvas.allowed(given + [-1] * (length - len(given))).row(len(given))), ids_in(mask[0])
            assert have <= want, (given, have - want)
            for token in want - have:
                fork = matcher.fork()
                assert fork.advance(token)
                assert fork.min_tokens_left > length - len(given) - 1, (given, token)
            escapes = [token for token in sorted(want) if b"\\" in at.tokens[token]]
            token = int(rng.choice(escapes if escapes and rng.random() < 0.6 else sorted(want)))
            found += b"\\" in at.tokens[token]
            given.append(token)
            matcher.advance(token)
    assert found > 20
