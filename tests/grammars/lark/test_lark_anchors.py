"""`^`, `\\A`, `\\b` and look-behind at the beginning of a text, beside stock lark: every short text of random grammars.

A terminal that comes first in every text may ask what stands before it: nothing. Inside a lexeme `^` holds after a line break
under the flag m, and nowhere else.
"""

import itertools
import random

import lark
import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.texts import BYTES

TEXTS = ["".join(text) for size in range(6) for text in itertools.product("ab\n", repeat=size)]

ANCHORS = tables("lark_texts")["anchors"]


@pytest.fixture(autouse=True)
def _without_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """lark asks interegular, where it is installed, which terminals collide; that trips over anchors."""
    monkeypatch.setattr(lark.lexer, "has_interegular", False, raising=False)


def stock(text: str) -> lark.Lark:
    return lark.Lark(text, parser="lalr")


def is_read(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


def assert_same(text: str) -> int:
    """The texts, and that a prefix is taken where one of the short texts begins so; how many texts there are."""
    parser = stock(text)
    expected = {t for t in TEXTS if is_read(parser, t)}
    begun = {t[:size] for t in expected for size in range(len(t) + 1)}
    if not expected:  # none at all, or longer ones
        return 0
    constraint = gl.compile(gl.Lark(text), BYTES)
    for t in TEXTS:
        matcher = constraint.matcher()
        taken = matcher.advance_bytes(t.encode())
        assert (taken and matcher.is_accepting) == (t in expected), (text, t)
        assert taken or t not in begun, (text, t)
    return len(expected)


def test_an_anchor_that_never_holds() -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Lark("start: /a^b/"), BYTES)


@pytest.mark.parametrize("text", [*ANCHORS["first"], *ANCHORS["later"]])
def test_an_anchor_holds_at_the_start_of_the_text_alone(text: str) -> None:
    """What stands before the first lexeme is known; before a later one `^` does not hold, wherever that begins."""
    assert assert_same(text)


@pytest.mark.parametrize("text", ANCHORS["later"])
def test_masks_of_tokens_over_several_lexemes(text: str) -> None:
    """A token is allowed iff one of the short texts goes on with it; no grammar here needs long ones."""
    tokens = [*(bytes([b]) for b in range(256)), b"<eos>", b"ab", b"ba", b"aa", b"bb", b"\nb", b"a\n", b"bab"]
    vocab = gl.Vocabulary(tokens, stop_ids=[256])
    parser, constraint = stock(text), gl.compile(gl.Lark(text), vocab)
    begun = {t[:size] for t in TEXTS if is_read(parser, t) for size in range(len(t) + 1)}
    for read in ("", "a", "b", "\n", "ab", "ba"):
        matcher, mask = constraint.matcher(), gl.allocate_mask(1, vocab.size)
        assert matcher.advance_bytes(read.encode()) == (read in begun), read
        if read not in begun:
            continue
        matcher.fill_mask(mask)
        for token in (97, 98, 10, *range(257, len(tokens))):
            after = read + tokens[token].decode()
            if len(after) <= 4:
                assert bool(mask[0, token >> 5] >> (token & 31) & 1) == (after in begun), after


@pytest.mark.parametrize("text", ANCHORS["refused"])
def test_elsewhere_it_is_not(text: str) -> None:
    stock(text)
    with pytest.raises(gl.UnsupportedFeature, match="other lexemes may stand"):
        gl.compile(gl.Lark(text), BYTES)


def piece(rng: random.Random) -> str:
    before = rng.choice(["", "", "^", "^", r"\A", r"\b", r"\B", "(?<!a)", "(?<=\\n)", "(?:^|a)", "(?:a|^)"])
    return before + rng.choice(["a", "b", r"\n", "[ab]", "a?b", "(?:b|)a"])


def terminal(rng: random.Random, is_first: bool) -> str:
    begin = piece(rng) if is_first else rng.choice(["a", "b", r"\n", "[ab]", "^a", "(?:^|a)b", "(?:^b|a)"])
    flags = (
        rng.choice(["", "m", "m"]) if is_first or "^" not in begin else ""
    )  # under m the character before would count
    return f"/{begin}{''.join(piece(rng) for _ in range(rng.randrange(3)))}/{flags}"


@pytest.mark.parametrize("part", range(4))
def test_random_grammars_read_what_lark_reads(part: int) -> None:
    rng, found = random.Random(f"anchors {part}"), 0
    for _ in range(30):
        rest = rng.choice(["", " T", " T?", " T*"])
        text = f"start: {terminal(rng, True)}{rest} | {terminal(rng, True)}\nT: {terminal(rng, False)}\n"
        try:
            stock(text)
        except Exception:  # two terminals that are one, or one that may be empty
            continue
        found += assert_same(text)
    assert found > 50
