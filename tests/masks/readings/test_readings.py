"""How texts are read back: against a list of all their readings, and what is told of them on the way."""

import gc
from collections import Counter

import pytest

import grammarlm as gl
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.names import Names
from grammarlm.grammars.repeat import Repeat
from grammarlm.masks.readings.reader import Begun, Ended, History, Reader, Told
from grammarlm.masks.readings.ways import Ways
from grammarlm.masks.runtime.limits import Limits
from tests.counts import record_counts, tiers
from tests.masks.readings.drawn import FEW, MARK, MARKER, SPECIAL, VOCAB, Drawn, tokens_of
from tests.oracles.all_readings import first_reading

Marks = tuple[tuple[str, bool, int], ...]  # (name, is it an end, bytes before it)


def ways_of(grammar: Grammar, vocab: gl.Vocabulary = VOCAB, **limits: int) -> Ways:
    return Ways(Names(grammar, {}, 0), vocab, Limits(**limits))


def told_of(ways: Ways, tokens: list[int]) -> list[list[Told]]:
    """What is told after each token, and at the end."""
    reader, told = Reader(ways), []
    for token in tokens:
        reader.feed(token, b"" if token in ways.vocab.special_ids else ways.vocab.token_bytes(token))
        told.append(reader.told())
    return [*told, reader.finish()]


def marks_of(told: list[list[Told]]) -> Marks:
    found, at = [], 0
    for one in [one for step in told for one in step]:
        if isinstance(one, bytes):
            at += len(one)
        else:
            found.append((one.label.name or "", isinstance(one, Ended), at))
    return tuple(found)


def marks_in(text: bytes, ways: Ways, tokens: list[int]) -> Marks | None:
    """The marks as they are read; None where the text is refused. What is told is the text, and parts end as they begin."""
    try:
        told = told_of(ways, tokens)
    except ValueError:
        return None
    assert b"".join(one for step in told for one in step if isinstance(one, bytes)) == text.replace(MARK, b"")
    marks = marks_of(told)
    ended = [(one.label.name or "", one.span) for step in told for one in step if isinstance(one, Ended)]
    for side, is_end in enumerate((False, True)):
        assert Counter((name, span[side]) for name, span in ended) == Counter(
            (n, at) for n, end, at in marks if end == is_end
        )
    return marks


def expected(node, text: bytes) -> Marks | None:
    first = first_reading(node, text)
    if first is None:
        return None
    return tuple((name, is_end, len(text[:at].replace(MARK, b""))) for name, is_end, at in first.marks)


@pytest.mark.parametrize("kinds", ["regular", "ruled", "all"])
@tiers("count", 40, 2000)
def test_of_all_readings_the_first_one_is_read(kinds: str, count: int, record_property) -> None:
    """And texts have a reading iff their matcher accepts them."""
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        drawn = Drawn(f"{kinds} {seed}", kinds)
        grammar, node = drawn.draw()
        ways, constraint = ways_of(grammar), None
        if kinds != "all":  # a schema may stand in a Repeat
            try:
                constraint = gl.compile(grammar, VOCAB)
            except gl.UnsatisfiableGrammar:
                outcomes["without texts"] += 1
        for text in drawn.texts(node, 10):
            tokens = tokens_of(drawn.rng, text)
            assert tokens is not None
            want = expected(node, text)
            assert marks_in(text, ways, tokens) == want, (kinds, seed, grammar, text)
            if constraint is not None:
                matcher = constraint.matcher()
                assert (all(map(matcher.advance, tokens)) and matcher.is_accepting) == (want is not None), (seed, text)
            outcomes["refused" if want is None else "read"] += 1
    assert outcomes["read"] > 2 * count
    assert outcomes["refused"] > count
    record_counts(record_property, outcomes, kinds + " ")


def test_pieces_are_read_that_no_tokens_spell_alone() -> None:
    """Tokens cross their ends, and the vocabulary has no token for some of their bytes."""
    read = 0
    for seed in range(80):
        drawn = Drawn(f"few {seed}", "regular")
        grammar, node = drawn.draw()
        ways = ways_of(grammar, FEW)
        for text in drawn.texts(node, 10):
            tokens = tokens_of(drawn.rng, text, FEW)
            if tokens is not None:
                read += 1
                assert marks_in(text, ways, tokens) == expected(node, text), (seed, grammar, text)
    assert read > 200


# ---------------------------------------------------------------------- what is told, and when

WORD = Capture("word", gl.Regex("[a-z]+"))
CALL = gl.Text(until="<c>") + Capture("call", gl.Regex("[a-z]+;"))


def shown(told: list[list[Told]]) -> str:
    """Of each token what is told after it: (name begins, name) ends."""
    return "|".join("".join(map(_shown, step)) for step in told)


def _shown(one: Told) -> str:
    if isinstance(one, bytes):
        return one.decode(errors="replace")
    return f"({one.label.name} " if isinstance(one, Begun) else f" {one.label.name})"


@pytest.mark.parametrize(
    ("grammar", "tokens", "want"),
    [
        # A part is known to begin with the text, and to end with the piece after it.
        (Capture("a", gl.Text(until=";")) + Capture("b", gl.Text()), ["x", "y;", "z"], "(a x|y; a)(b |z| b)"),
        # Pieces that cannot go on are told at once; others, when something else follows.
        (Capture("a", gl.Regex("x{2}")) + gl.Regex("y*"), ["x", "x", "y"], "(a x|x a)|y|"),
        (WORD + "," + WORD, ["a", "b", ",", "a"], "(word a|b| word),(word |a| word)"),
        # Text that no reading puts into a part is told, whatever comes after it.
        (Repeat(CALL) + gl.Text(), ["a", "<", "c", ">", "x", ";", "b"], "a|<|c|>|||(call x; call)b|"),
        # It waits where it may be a part's.
        (Capture("a", gl.Regex("x*y")) | gl.Regex("x*z"), ["x", "x", "y"], "||(a xxy a)|"),
        (Capture("a", gl.Regex("x*")) + Capture("b", gl.Regex("x*")), ["x", "x"], "(a || a)(b xx b)"),
        # Parts that are called the same in all readings are one part.
        (Capture("a", gl.Regex("x*y")) | Capture("a", gl.Regex("x*z")), ["x", "x", "y"], "(a x|x|y a)|"),
        # Characters that tokens split are told in bytes.
        (Capture("a", gl.Regex("[^;]+")) + ";", [b"\xc3", b"\xa9", ";"], "(a \ufffd|\ufffd| a);|"),
    ],
)  # fmt: skip
def test_what_is_certain_is_told_at_once(grammar: Grammar, tokens: list[str | bytes], want: str) -> None:
    pieces = [piece.encode() if isinstance(piece, str) else piece for piece in tokens]
    vocab = gl.Vocabulary([*dict.fromkeys(pieces), b"</s>"], stop_ids=[len(set(pieces))])
    ids = [list(dict.fromkeys(pieces)).index(piece) for piece in pieces]
    assert shown(told_of(ways_of(grammar, vocab), ids)) == want


def spans(
    grammar: Grammar, tokens: list[int], vocab: gl.Vocabulary = VOCAB
) -> list[tuple[str, tuple[int, int], range]]:
    told = told_of(ways_of(grammar, vocab), tokens)
    return [(one.label.name or "", one.span, one.tokens) for step in told for one in step if isinstance(one, Ended)]


def test_parts_know_the_tokens_that_have_bytes_of_them() -> None:
    vocab = gl.Vocabulary([b"a", b"ab", b"b,", b",", b"</s>", b"<m>"], stop_ids=[4], special_ids=[4, 5])
    grammar = Capture("x", "aa") + Capture("y", gl.Regex("b*")) + Capture("z", ",") + gl.Token("<m>") + Capture("w", "")
    assert spans(grammar, [0, 1, 2, 5], vocab) == [
        ("x", (0, 2), range(0, 2)),
        ("y", (2, 4), range(1, 3)),
        ("z", (4, 5), range(2, 3)),
        ("w", (5, 5), range(4, 4)),
    ]
    assert spans(Capture("all", gl.Token("<m>") + Capture("b", "") + gl.Token("<m>")) + "a", [5, 5, 0], vocab) == [
        ("b", (0, 0), range(1, 1)),
        ("all", (0, 0), range(0, 2)),
    ]


def test_tokens_are_read_by_their_ids() -> None:
    """Items, and ordinary tokens that a grammar names: the same bytes in other tokens are another text."""
    vocab = gl.Vocabulary([b"a", b"b", b"ab", b"ba", b"</s>"], stop_ids=[4])
    items = Capture("item", gl.Tokens([[2], [2, 3], [0, 1, 1]]))
    assert spans("b" + items + gl.Text(), [1, 2, 3], vocab) == [("item", (1, 3), range(1, 2))]
    assert spans(items + Capture("b", gl.Regex("b?")), [0, 1, 1], vocab) == [
        ("item", (0, 3), range(0, 3)),
        ("b", (3, 3), range(3, 3)),
    ]
    with pytest.raises(ValueError, match="ends after 2 bytes"):
        spans(items, [0, 1], vocab)
    with pytest.raises(ValueError, match="goes on after 1 bytes"):
        spans(gl.Regex("b") + items, [3, 1, 1], vocab)  # an item begins with a token
    named = Capture("named", gl.Token(2)) | Capture("spelled", "ab")
    assert spans(named, [2], vocab) == [("named", (0, 2), range(0, 1))]
    assert spans(named, [0, 1], vocab) == [("spelled", (0, 2), range(0, 2))]
    ruled = Capture("rule", gl.Gbnf('root ::= "(" root ")" | <[2]> "b"')) | gl.Text()
    assert spans(ruled, [2, 1], vocab) == [("rule", (0, 3), range(0, 2))]
    assert spans(ruled, [0, 1, 1], vocab) == []


@pytest.mark.parametrize("most", range(1, 6))
def test_a_text_of_so_many_tokens_is_none_of_more(most: int) -> None:
    vocab = gl.Vocabulary([b"a", b"ab", b"b;a", b";", b"</s>"], stop_ids=[4])
    grammar = Capture("short", gl.Text(until=";", max_tokens=most)) + gl.Text() | Capture("long", gl.Text())
    for tokens, count in (([0, 1, 3, 0], 3), ([0, 0, 0, 2, 0], 4), ([3, 3], 1), ([2, 3], 1)):
        (name, _, own), *_ = spans(grammar, tokens, vocab)
        assert (name, len(own)) == (("short", count) if count <= most else ("long", len(tokens)))
    after = "a" + Capture("short", gl.Text(until=";", max_tokens=most)) | Capture("long", gl.Text())
    assert spans(after, [1, 0, 3], vocab)[0][0] == ("short" if most >= 3 else "long")  # it shares the first token


def test_the_last_lexeme_of_a_lark_part_takes_what_it_can() -> None:
    number = Capture("number", gl.Lark('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/'))
    told = told_of(ways_of(number + Capture("rest", gl.Text())), list(b"12+34;5"))
    assert [one.span for step in told for one in step if isinstance(one, Ended)] == [(0, 2), (2, 7)]
    assert spans(number + "\n" + number, list(b"12+34\n5"))[0][1] == (0, 5)
    with pytest.raises(ValueError, match="ends after 3 bytes"):
        spans(number + "3", list(b"123"))
    assert spans(number + gl.Token(MARKER) + "3", [*b"12", SPECIAL, *b"3"])[0][1] == (0, 2)


# ---------------------------------------------------------------------- what is refused, and limits


def test_a_damaged_text_is_refused_where_it_is_damaged() -> None:
    ways = ways_of(Repeat(WORD, separator=", "))
    reader = Reader(ways)
    for token in b"ab, ":
        reader.feed(token, bytes([token]))
    with pytest.raises(ValueError, match="ends after 4 bytes, where none of its grammar does"):
        reader.finish()
    with pytest.raises(ValueError, match="goes on after 4 bytes as this one does"):
        reader.feed(ord("1"), b"1")


def test_states_that_are_dropped_change_nothing() -> None:
    """Limits that hold a few states: automata begin anew in the middle of texts."""
    schema = gl.JsonSchema({"type": "array", "items": {"type": "string", "maxLength": 40}})
    grammar = Repeat(Capture("line", schema) + Capture("end", gl.Regex("(?:;[a-z]{0,30})+\n")))
    line = '["%s","b\\u00e9"];abcdefghijkl;;m\n'
    text = "".join(line % ("xy" * number) for number in range(20)).encode()
    small, large = ways_of(grammar, max_states=8), ways_of(grammar)
    assert shown(told_of(small, list(text))) == shown(told_of(large, list(text)))


def test_too_many_readings_are_a_limit() -> None:
    nested = gl.Regex("a{0,3}")
    for _ in range(3):
        nested = Repeat(Capture("x", nested), max=200)
    with pytest.raises(gl.LimitExceeded, match="more than 4,096 ways"):
        spans(nested, list(b"a" * 600))
    empty = Repeat(Capture("x", gl.Regex("a?")), min=100_000)
    with pytest.raises(gl.LimitExceeded, match="in a row may be empty"):
        spans(empty, list(b"a"))


def test_a_long_text_takes_no_more_memory_than_a_short_one() -> None:
    """What is told is forgotten: histories do not grow with the text."""
    ways = ways_of(Repeat(WORD, separator=" ") + "\n")
    reader, counts = Reader(ways), []
    for _ in range(3):
        for token in b"abc " * 100:
            reader.feed(token, bytes([token]))
            reader.told()
        counts.append(sum(isinstance(one, History) for one in gc.get_objects()))
    assert counts[2] == counts[1] < 20
