"""gl.Substring: pieces of a document, against Python's `in` and a search for bytes at the borders of words."""

import gc
import random
import weakref

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.machines.substring.epoch import SubstringEpoch
from grammarlm.masks.machines.substring.suffixes import CHUNK
from tests.counts import record_counts, tiers
from tests.internals import automaton_of
from tests.laws.vocabularies import TEXT, TokenList, every_byte, few_bytes
from tests.mask_bits import ids_of
from tests.oracles.quotes import Quotes

ALPHABETS = ["ab", "ab ", "a b-_", "é×a ", "日本a ", "😀é b", TEXT]
HOSTILE = every_byte()


def document(rng: random.Random) -> str:
    alphabet = rng.choice(ALPHABETS)
    if rng.random() < 0.3:  # pieces that come again
        words = ["".join(rng.choices(alphabet, k=rng.randint(1, 6))) for _ in range(3)]
        return "".join(rng.choices(words, k=rng.randint(1, 12)))
    return "".join(rng.choices(alphabet, k=rng.randint(1, 40)))


def tokens_for(text: str, rng: random.Random) -> TokenList:
    """The hostile vocabulary with pieces of the document, cut anywhere, and some that nearly are."""
    data, more = text.encode(), set[bytes]()
    for _ in range(30):
        at = rng.randrange(len(data))
        piece = data[at : at + rng.randint(2, 7)]
        more |= {piece, piece[:-1] + data[at : at + 1]} - {b""}
    tokens = HOSTILE.tokens + sorted(more)
    return TokenList(tokens, HOSTILE.stop_ids, HOSTILE.special_ids, len(tokens) + 3)


def check_walk(matcher: gl.Matcher, tokens: TokenList, quotes: Quotes, rng: random.Random, before: bytes = b"") -> int:
    """Every bit of the masks of a random walk; the number of masks."""
    mask, read, checked = gl.allocate_mask(1, tokens.size), before, 0
    texts = {i: t for i, t in enumerate(tokens.tokens) if t and i not in tokens.stop_ids + tokens.special_ids}
    while True:
        matcher.fill_mask(mask)
        expected = {i for i, data in texts.items() if quotes.begins(read + data)}
        if quotes.is_piece(read):
            expected |= set(tokens.stop_ids)
        assert set(ids_of(mask[0])) == expected, read
        assert matcher.is_accepting is quotes.is_piece(read)
        checked += 1
        following = sorted(expected - set(tokens.stop_ids))
        if not following or rng.random() < 0.1:
            return checked
        token = rng.choice(following)
        assert matcher.advance(token)
        read += tokens.tokens[token]


@tiers("count", 40, 2_000)
def test_masks_are_what_a_search_in_the_document_says(count: int, record_property) -> None:
    masks = {"char": 0, "word": 0}
    for number in range(count):
        rng = random.Random(f"quotes {number}")
        text, unit = document(rng), rng.choice(["char", "word"])
        tokens, quotes = tokens_for(text, rng), Quotes(text, unit)
        constraint = gl.compile(gl.Substring(text, unit=unit), tokens.vocabulary())
        assert isinstance(automaton_of(constraint).epoch, SubstringEpoch)
        for _ in range(4):
            masks[unit] += check_walk(constraint.matcher(), tokens, quotes, rng)
    record_counts(record_property, masks)


@tiers("count", 30, 1_000)
def test_every_short_text_is_a_piece_iff_python_says_so(count: int) -> None:
    for number in range(count):
        rng = random.Random(f"in {number}")
        text = document(rng)
        matcher = gl.compile(gl.Substring(text), HOSTILE.vocabulary()).matcher()
        for _ in range(60):
            start = rng.randrange(len(text))
            piece = text[start : start + rng.randint(0, 6)]
            if rng.random() < 0.5:
                piece = piece[: len(piece) // 2] + rng.choice(text) + piece[len(piece) // 2 :]
            is_read = matcher.advance_bytes(piece.encode()) and matcher.is_accepting
            assert is_read is (piece in text), (text, piece)
            matcher.reset()


@tiers("count", 10, 300)
def test_as_a_regular_language_it_is_the_same(count: int) -> None:
    """Beside `&` its states are made in Python; so are they where tokens do not spell all of its bytes."""
    for number in range(count):
        rng = random.Random(f"terms {number}")
        text, unit = document(rng), rng.choice(["char", "word"])
        tokens = tokens_for(text, rng)
        constraint = gl.compile(gl.Substring(text, unit=unit) & gl.Text(), tokens.vocabulary())
        check_walk(constraint.matcher(), tokens, Quotes(text, unit), rng)


@tiers("count", 12, 400)
def test_where_bytes_are_no_tokens_a_piece_goes_on_only_where_tokens_end_it(count: int) -> None:
    tried = 0
    for number in range(count):
        rng = random.Random(f"few {number}")
        tokens, text = few_bytes(number), document(rng)
        quotes, texts = Quotes(text, "char"), {t for t in tokens.tokens if t not in (b"", b"<eos>")}
        reached, waiting = {b""}, [b""]
        for read in waiting:  # all pieces that tokens spell
            new = {read + t for t in texts if quotes.begins(read + t)} - reached
            reached |= new
            waiting += new
        usable = {read for read in reached if quotes.is_piece(read)}
        for read in sorted(reached, key=len, reverse=True):
            if any(read + t in usable for t in texts):
                usable.add(read)
        matcher = gl.compile(gl.Substring(text), tokens.vocabulary()).matcher()
        for read in sorted(usable, key=lambda data: (len(data), data))[:20]:
            matcher.reset()
            assert matcher.advance_bytes(read)
            mask = gl.allocate_mask(1, tokens.size)
            matcher.fill_mask(mask)
            allowed = {tokens.tokens[i] for i in ids_of(mask[0]) if i not in tokens.stop_ids}
            assert allowed == {t for t in texts if read + t in usable}
            tried += 1
    assert tried > count


def test_a_long_document_is_read_to_its_end() -> None:
    """Longer than the chunks in which the automaton grows, with states whose edges are searched by halving."""
    rng = random.Random("long")
    letters = "".join(chr(c) for c in range(32, 127)) + "é×日本語😀"
    text = "".join(rng.choices(letters, k=CHUNK + CHUNK // 2)) + " and all went well."
    constraint = gl.compile(gl.Substring(text), HOSTILE.vocabulary())
    quotes, matcher = Quotes(text, "char"), constraint.matcher()
    for _ in range(3):
        check_walk(constraint.matcher(), HOSTILE, quotes, rng)
    for size in (1, 2, 3, 50, 4_000):
        at = rng.randrange(len(text) - size)
        for piece in (text[at : at + size], text[-size:], text[:size]):
            assert matcher.advance_bytes(piece.encode())
            assert matcher.is_accepting
            matcher.reset()
            assert not matcher.advance_bytes((piece + "\n").encode())
    automaton = automaton_of(constraint)
    assert automaton.program.suffixes.nbytes <= 60 * len(text.encode())


def test_equal_documents_share_an_automaton_while_one_is_alive() -> None:
    first, second = (gl.compile(gl.Substring("ab" * 50), HOSTILE.vocabulary()) for _ in range(2))
    shared = automaton_of(first).program.suffixes
    assert automaton_of(second).program.suffixes is shared
    known = weakref.ref(shared)
    del first, second, shared
    gc.collect()
    assert known() is None


def test_a_budget_ends_at_a_border() -> None:
    text = "extraordinary well-known circumstances"
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256], special_ids=[256])
    constraint = gl.compile(gl.Substring(text, unit="word"), vocab)
    rng, ended = random.Random("budget"), set()
    for most in range(1, 25):
        matcher, mask, read = constraint.matcher(max_tokens=most), gl.allocate_mask(1, 257), b""
        while len(read) < most:
            matcher.fill_mask(mask)
            allowed = [token for token in ids_of(mask[0]) if token != 256]
            if not allowed:
                break
            token = rng.choice(allowed)
            assert matcher.advance(token)
            read += bytes([token])
        assert Quotes(text, "word").is_piece(read), read
        ended.add(read)
    assert len(ended) > 5


def test_parts_read_documents() -> None:
    text = 'he said "no" and "yes, no"'
    grammar = gl.Capture("quote", gl.Substring(text)) + " :: " + gl.JsonSchema({"type": "boolean"}, whitespace="")
    constraint = gl.compile(grammar, HOSTILE.vocabulary())
    rng, quotes = random.Random("parts"), Quotes(text, "char")
    texts = {i: t for i, t in enumerate(HOSTILE.tokens) if t and i not in HOSTILE.stop_ids + HOSTILE.special_ids}
    for _ in range(6):
        matcher, mask, read = constraint.matcher(), gl.allocate_mask(1, HOSTILE.size), b""
        for _ in range(12):
            matcher.fill_mask(mask)
            allowed = set(ids_of(mask[0])) - set(HOSTILE.stop_ids)
            assert allowed == {i for i, data in texts.items() if goes_on(read + data, quotes)}, read
            if not allowed:
                break
            token = rng.choice(sorted(allowed))
            assert matcher.advance(token)
            read += texts[token]


def goes_on(data: bytes, quotes: Quotes) -> bool:
    """Does a quote begin so, or one with what comes after it?"""
    ends = (b" :: true", b" :: false")
    cuts = [cut for cut in range(len(data) + 1) if quotes.is_piece(data[:cut])]
    return quotes.begins(data) or any(end.startswith(data[cut:]) for end in ends for cut in cuts)


@pytest.mark.parametrize("options", [{}, {"method": "beam", "beams": 3}, {"n": 3, "temperature": 1.0, "seed": 5}])
def test_answers_are_in_the_passage(options: dict) -> None:
    """Of greedy decoding, beams and draws."""
    model, tokenizer = gl.load_tiny()
    passage = "Orders are sent on Monday. Bills are due in 30 days, naïve or not."
    for unit in ("char", "word"):
        grammar = '"' + gl.Capture("quote", gl.Substring(passage, unit=unit)) + '"'
        found = gl.generate(model, "The bill is due", tokenizer=tokenizer, grammar=grammar, max_tokens=14, **options)
        for out in found if isinstance(found, list) else [found]:
            assert out.text[0] == out.text[-1] == '"'
            assert Quotes(passage, unit).is_piece(out.text[1:-1].encode())
            assert out["quote"] == out.text[1:-1]


def test_what_is_wrong_is_named() -> None:
    vocab = HOSTILE.vocabulary()
    for make, kind, says in (
        (lambda: gl.Substring(""), ValueError, "empty document"),
        (lambda: gl.Substring(b"ab"), TypeError, "as a string, not bytes"),
        (lambda: gl.Substring("ab", unit="line"), ValueError, "'char' or 'word'"),
        (lambda: gl.compile(gl.Substring("a\ud800"), vocab), gl.GrammarError, "surrogate"),
        (
            lambda: gl.compile(gl.Substring("ab" * 500), vocab, limits=gl.Limits(max_bytes=10_000)),
            gl.LimitExceeded,
            "the document has 1,000 bytes",
        ),
        (
            lambda: gl.compile(gl.Substring("ab") & gl.JsonSchema(True), vocab),
            gl.UnsupportedFeature,
            "'&' with a JsonSchema",
        ),
        (
            lambda: gl.compile(gl.Substring("ab" * 500), vocab, limits=gl.Limits(max_states=900)).canvas(4),
            gl.LimitExceeded,
            "its pieces have more than limits.max_states",
        ),
    ):
        with pytest.raises(kind, match=says) as caught:
            make()
        assert len(str(caught.value)) <= 500


def test_a_constraint_is_saved_with_its_document() -> None:
    vocab, grammar = HOSTILE.vocabulary(), "<" + gl.Substring("ab-ab", unit="word")
    constraint = gl.compile(grammar, vocab)
    assert gl.Constraint.from_bytes(constraint.to_bytes(), vocab).grammar == grammar
    prints = {
        gl.compile(g, vocab).fingerprint for g in (grammar, "<" + gl.Substring("ab-ab"), "<" + gl.Substring("ab-a"))
    }
    assert len(prints) == 3
    assert repr(gl.Substring("ab-ab", unit="word")) == "Substring('ab-ab', unit='word')"


def test_an_explanation_says_how_the_document_goes_on() -> None:
    matcher = gl.compile(gl.Substring("to be or not to be, that"), HOSTILE.vocabulary()).matcher()
    assert matcher.advance_bytes(b"to be o")
    assert "the document goes on with 'r not to be, that'" in matcher.explain(ord("x"))
    assert matcher.advance_bytes(b"r not to be, that")
    assert "the document ends here" in matcher.explain(ord("x"))


def test_rows_that_took_long_are_kept_until_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grammarlm.masks.machines.substring.epoch.MANY_NODES", 0)
    rng = random.Random("rows")
    text = TEXT[:300]
    constraint = gl.compile(
        gl.Substring(text), HOSTILE.vocabulary(), limits=gl.Limits(max_bytes=70 * len(text.encode()))
    )
    epoch = automaton_of(constraint).epoch
    first = epoch.row(epoch.start)
    assert epoch.rows[epoch.start] is first
    for _ in range(120):
        check_walk(constraint.matcher(), HOSTILE, Quotes(text, "char"), rng)
    assert epoch.rows[epoch.start] is not first
    assert np.array_equal(epoch.row(epoch.start), first)
