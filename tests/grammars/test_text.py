"""gl.Text and gl.Ban: every mask against what Python's own strings say, however tokens cut the markers."""

import random
from collections.abc import Iterator
from itertools import pairwise, product

import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.texts import accepts

BYTES = [bytes([b]) for b in range(256)]


def vocabulary(*pieces: str | bytes) -> gl.Vocabulary:
    """Every byte, the pieces, and a stop id after them."""
    merged = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return gl.Vocabulary([*BYTES, *merged, b"</s>"], stop_ids=[256 + len(merged)])


def pieces_of(rng: random.Random, texts: list[str], count: int) -> list[bytes]:
    """Cuts out of the texts in a row: parts of markers, their ends with more after them, cuts inside characters."""
    cuts = []
    for _ in range(count):
        data = "".join(rng.choice(texts) for _ in range(3)).encode()
        start = rng.randrange(max(1, len(data) - 1))
        cuts.append(data[start : start + rng.randint(2, 9)] or b"xx")
    return cuts


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def begins_utf8(data: bytes) -> bool:
    return any(is_utf8(data + byte * count) for byte in (b"\x80", b"\xbf") for count in range(4))


def first_end(data: bytes, strings: list[str]) -> int | None:
    """Where one of the strings is first complete."""
    ends = [at + len(s.encode()) for s in strings if (at := data.find(s.encode())) >= 0]
    return min(ends, default=None)


def may_begin_until(data: bytes, markers: list[str]) -> bool:
    return begins_utf8(data) and first_end(data, markers) in (None, len(data))


def ends_until(data: bytes, markers: list[str]) -> bool:
    return is_utf8(data) and first_end(data, markers) == len(data)


def may_begin_without(data: bytes, banned: list[str]) -> bool:
    return begins_utf8(data) and first_end(data, banned) is None


def assert_masks(
    grammar: gl.Text | gl.Ban, vocab: gl.Vocabulary, viable, complete, rng: random.Random, steps: int
) -> None:
    """Along a walk over tokens, each id is allowed iff the bytes so far and its own may begin a text."""
    constraint = gl.compile(grammar, vocab)
    matcher, data, stop = constraint.matcher(), b"", vocab.stop_ids[0]
    for _ in range(steps):
        expected = {t for t in range(stop) if viable(data + vocab.token_bytes(t))}
        ends = {stop} if complete(data) else set()
        assert allowed_ids(matcher, vocab) == expected | ends, data
        merged = [t for t in expected if t > 255]
        if not expected or rng.random() < 0.05:
            matcher.reset()
            data = b""
            continue
        token = rng.choice(merged) if merged and rng.random() < 0.8 else rng.choice(sorted(expected))
        assert matcher.advance(token)
        data += vocab.token_bytes(token)


MARKERS = [
    ["</think>"],
    ["aab"],
    ["aaaa"],
    ["é"],
    ["€ü€"],
    ["\n\n"],
    ["ab", "abc", "ba"],
    ["<end>", "</end>", "<e"],
    ["\x00"],
]


@pytest.mark.parametrize("markers", MARKERS, ids=repr)
def test_masks_up_to_a_marker(markers: list[str]) -> None:
    rng = random.Random(f"until {markers}")
    vocab = vocabulary(*pieces_of(rng, [*markers, *markers, markers[0][:-1], "a", "é<", "x"], 80), *markers)
    until = markers[0] if len(markers) == 1 else markers
    assert_masks(
        gl.Text(until=until), vocab, lambda d: may_begin_until(d, markers), lambda d: ends_until(d, markers), rng, 60
    )


@pytest.mark.parametrize("banned", MARKERS, ids=repr)
def test_masks_without_strings(banned: list[str]) -> None:
    rng = random.Random(f"ban {banned}")
    vocab = vocabulary(*pieces_of(rng, [*banned, banned[0][:-1], "a", "é<", "x"], 80), *banned)
    assert_masks(gl.Ban(banned), vocab, lambda d: may_begin_without(d, banned), is_utf8, rng, 60)


@pytest.mark.parametrize(("markers", "banned"), [
    (["</think>"], ["<think>", "nk<"]),
    (["aab"], ["ba"]),
    (["ab", "é"], ["ab"]),
    ([], ["é<", "aa"]),
])  # fmt: skip
def test_masks_up_to_a_marker_without_strings(markers: list[str], banned: list[str]) -> None:
    """A text ends with a marker, if there are some, and contains none of the others, as a whole."""
    rng = random.Random(f"{markers} without {banned}")
    vocab = vocabulary(*pieces_of(rng, [*markers, *banned, "a", "é<", "x"], 80), *markers, *banned)
    lost = {marker for marker in markers if any(text in marker for text in banned)}
    left = [marker for marker in markers if marker not in lost]  # the others end no text

    def viable(data: bytes) -> bool:
        end = first_end(data, markers)
        return may_begin_without(data, banned) and (end is None or (end == len(data) and first_end(data, left) == end))

    def complete(data: bytes) -> bool:
        return is_utf8(data) and viable(data) and (not markers or first_end(data, markers) == len(data))

    assert_masks(gl.Text(until=markers or None, excludes=banned), vocab, viable, complete, rng, 60)


def test_excluded_strings_are_part_of_the_description() -> None:
    assert gl.Text(excludes="ab") == gl.Text(excludes=["ab"]) != gl.Text()
    assert repr(gl.Text(excludes=["ab"], max_chars=3)) == "Text(max_chars=3, excludes=('ab',))"
    with pytest.raises(gl.GrammarError, match=r"Text\(excludes=...\) holds an empty string"):
        gl.compile(gl.Text(excludes=["a", ""]), vocabulary("a"))
    with pytest.raises(TypeError, match=r"Text\(excludes=...\) takes"):
        gl.Text(excludes=[1])  # type: ignore[list-item]


def test_any_text_is_utf8() -> None:
    rng = random.Random("any")
    vocab = vocabulary(
        *pieces_of(rng, ["é€", "😀", "a\x7f", "\ud7ff\ue000", "\U0010ffff"], 100), b"\xed\xa0\x80", b"\xf4\x90"
    )
    for grammar in (gl.Text(), gl.Ban([])):
        assert_masks(grammar, vocab, begins_utf8, is_utf8, rng, 60)


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """The data cut in every way."""
    for borders in product([False, True], repeat=len(data) - 1):
        places = [0, *(i + 1 for i, border in enumerate(borders) if border), len(data)]
        yield [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("rest", ["", "+gbnf"])
def test_a_marker_split_in_every_way(rest: str) -> None:
    marker = b"</think>"
    parts = sorted({marker[i:j] for i in range(8) for j in range(i + 2, 9)})
    vocab = vocabulary(*parts)
    number = {vocab.token_bytes(t): t for t in range(vocab.stop_ids[0])}
    grammar = gl.Text(until="</think>")
    constraint = gl.compile(grammar + gl.Gbnf('root ::= "(" root? ")"') if rest else grammar, vocab)
    for cut in cuts(marker):
        matcher = constraint.matcher()
        for before in (b"a", b"<"):
            assert matcher.advance(number[before])
        assert all(matcher.advance(number[part]) for part in cut), cut
        if rest:
            assert allowed_ids(matcher, vocab) == {number[b"("]}
        else:
            assert allowed_ids(matcher, vocab) == {vocab.stop_ids[0]}


def test_a_token_that_goes_on_after_the_marker() -> None:
    """It is read where the grammar goes on as the token does, and refused elsewhere."""
    vocab = vocabulary("k>", "k>(", "k>((", "k>)", "k>a", ">(", "><", "</think><")
    number = {vocab.token_bytes(t): t for t in range(vocab.stop_ids[0])}
    brackets = gl.Gbnf('root ::= "(" root? ")"')
    matcher = gl.compile(gl.Text(until="</think>") + brackets, vocab).matcher()
    assert number[b"</think><"] not in allowed_ids(matcher, vocab)
    assert matcher.advance_bytes("é</thin".encode())
    allowed = allowed_ids(matcher, vocab)
    assert {number[b"k>"], number[b"k>("], number[b"k>(("]} <= allowed
    assert not {number[b"k>)"], number[b"k>a"]} & allowed
    assert matcher.advance(number[b"k>(("])
    assert not matcher.advance_bytes(b")))")
    assert matcher.advance_bytes(b"))")
    assert matcher.is_accepting

    alone = gl.compile(gl.Text(until="</think>"), vocab).matcher()
    assert alone.advance_bytes(b"</think")
    assert allowed_ids(alone, vocab) & {number[b">("], number[b"><"], number[b">"]} == {number[b">"]}


def test_text_before_and_after_a_grammar() -> None:
    vocab = vocabulary("<a>", "</a>", ")</a>", "((")
    grammar = gl.Text(until="<a>") + gl.Gbnf('root ::= "(" root? ")"') + "</a>" + gl.Text()
    for text, is_whole in (
        ("x<a>(())</a>", True),
        ("<a>()</a>() <a>", True),
        ("<a>()</a", False),
        ("<a><a>()</a>", False),
        ("()</a>", False),
    ):
        assert accepts(gl.compile(grammar, vocab), text) is is_whole, text


def test_a_character_that_only_banned_strings_complete_is_not_begun() -> None:
    """All characters whose first byte is 0xC3 are banned, so that byte is, too."""
    vocab = vocabulary("ü", b"\xc3\xbc", b"a\xc3", b"\xc4\x80")
    matcher = gl.compile(gl.Ban([chr(c) for c in range(0xC0, 0x100)]), vocab).matcher()
    allowed = allowed_ids(matcher, vocab)
    assert not {0xC3, 256, 257, 258} & allowed
    assert {0xC4, 259, ord("a")} <= allowed


def test_banned_strings_inside_a_regular_grammar() -> None:
    vocab = vocabulary("foo", "fo", "oo", "ob", "ba", "bar")
    constraint = gl.compile(gl.Regex("[a-z]{0,6}") & gl.Ban(["foo", "ba"]), vocab)
    matcher, queue, seen = constraint.matcher(), [b""], 0
    for data in queue:
        matcher.reset()
        fits = b"foo" not in data and b"ba" not in data
        assert matcher.advance_bytes(data) is fits, data
        seen += fits
        queue += [data + c for c in (b"f", b"o", b"b", b"a")] if len(data) < 6 and fits else []
    assert seen > 1000
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Regex("f+oo") & gl.Ban(["foo"]), vocab)


def test_ends_are_known() -> None:
    """Budgets and forced bytes need the shortest end."""
    vocab = vocabulary("</", "think", ">")
    matcher = gl.compile(gl.Text(until="</think>"), vocab).matcher(max_tokens=3)
    assert matcher.min_tokens_left == 3
    assert matcher.forced_tokens() == [256, 257]  # two tokens spell the last byte
    assert matcher.forced_bytes() == b"</think>"


def test_long_markers_and_many_strings_stay_cheap_or_end_by_name() -> None:
    vocab = vocabulary()
    for until in ("a" * 300, "a" * 299 + "b", ["a" * n for n in range(100, 200)]):
        matcher = gl.compile(gl.Text(until=until), vocab).matcher()
        assert matcher.advance_bytes(b"a" * 99)
        assert matcher.advance_bytes(b"a")
    hostile = gl.Text(until="a" * 20_000)
    with pytest.raises(gl.LimitExceeded):
        gl.compile(hostile, vocab, limits=gl.Limits(max_ms=50)).matcher().advance_bytes(b"a" * 19_999)
    rng = random.Random("many")
    words = ["".join(rng.choice("abcdefgh") for _ in range(rng.randint(3, 9))) for _ in range(5000)]
    matcher = gl.compile(gl.Ban(words), vocab).matcher()
    data = b""
    for _ in range(300):
        byte = bytes([rng.choice(b"abcdefgh")])
        fits = not any(w.encode() in (data + byte)[-9:] for w in words)
        assert matcher.advance_bytes(byte) is fits
        data += byte if fits else b""
        if not fits and rng.random() < 0.1:
            assert matcher.advance_bytes(b" ")
            data += b" "


def test_what_is_refused() -> None:
    vocab = vocabulary()
    for broken in (gl.Text(until=""), gl.Text(until=["a", ""]), gl.Text(until=[]), gl.Ban(["a", ""])):
        with pytest.raises(gl.GrammarError, match=r"empty|no marker"):
            gl.compile(broken, vocab)
    with pytest.raises(gl.GrammarError, match="surrogate"):
        gl.compile(gl.Text(until="\ud800"), vocab)
    for wrong in (lambda: gl.Text(until=3), lambda: gl.Text(until=[b"a"]), lambda: gl.Ban("a"), lambda: gl.Ban([1])):
        with pytest.raises(TypeError):
            wrong()


def test_descriptions_are_values() -> None:
    vocab = vocabulary()
    assert gl.Text(until=["a", "b"]) == gl.Text(until=("a", "b")) != gl.Text(until="a")
    assert hash(gl.Ban(["a"])) == hash(gl.Ban(("a",)))
    for grammar in (
        gl.Text(),
        gl.Text(until="x"),
        gl.Text(until=["x", "y"]),
        gl.Ban(["x"]),
        gl.Regex("a*") & gl.Ban([]),
    ):
        data = gl.compile(grammar, vocab).to_bytes()
        assert gl.Constraint.from_bytes(data, vocab).grammar == grammar
    assert repr(gl.Ban(["a", "b", "c", "d"])) == "Ban(['a', 'b', 'c', ...])"
