"""`^`, `\\A`, `\\b` and look-behind at the beginning of a text, beside stock lark: every short text of random grammars.

A terminal that comes first in every text may ask what stands before it: nothing. Inside a lexeme `^` holds behind a line break
under the flag m, and nowhere else.
"""

import itertools
import random

import lark
import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], stop_ids=[256])
TEXTS = ["".join(text) for size in range(6) for text in itertools.product("ab\n", repeat=size)]

FIRST = [
    "start: /^a+/",
    "start: /^a/ /b+/",
    r"start: /\Aa/ | /b^a/ | /a^/",
    r"start: /\ba\b/ /\nb/",
    r"start: /(?<!a)(?<!\n)b/ /a/",
    r"start: start /\n/ | /^[ab]/",
    r"start: /a\n^b/m | /b\n\Ab/m | /a\n(^b|^)/m",
    r"start: /(?:^|\n)a/ /b/",
    r"start: /^ab$/m /\na/",
    "start: first /b/\nfirst: /^a/ | /^b/",
    "start: A B\nA: /^/ (/a/ | /b^/)\nB: /b/",
]
REFUSED = [
    'start: "a"* /^b/',
    'start: "a" /^b/',
    'start: first? /^b/\nfirst: "a"',
    'start: start /^b/ | "a"',
    'start: /^b/\n%ignore "a"',
    'start: "b"\n%ignore /^a/',
    r'start: "b" /\ba/',
]


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
    constraint = gl.compile(gl.Lark(text), VOCAB)
    for t in TEXTS:
        matcher = constraint.matcher()
        taken = matcher.advance_bytes(t.encode())
        assert (taken and matcher.is_accepting) == (t in expected), (text, t)
        assert taken or t not in begun, (text, t)
    return len(expected)


def test_an_anchor_that_never_holds() -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Lark("start: /a^b/"), VOCAB)


@pytest.mark.parametrize("text", FIRST)
def test_what_stands_before_the_first_lexeme_is_known(text: str) -> None:
    assert assert_same(text)


@pytest.mark.parametrize("text", REFUSED)
def test_elsewhere_it_is_not(text: str) -> None:
    stock(text)
    with pytest.raises(gl.UnsupportedFeature, match="other lexemes may stand"):
        gl.compile(gl.Lark(text), VOCAB)


def piece(rng: random.Random) -> str:
    before = rng.choice(["", "", "^", "^", r"\A", r"\b", r"\B", "(?<!a)", "(?<=\\n)", "(?:^|a)", "(?:a|^)"])
    return before + rng.choice(["a", "b", r"\n", "[ab]", "a?b", "(?:b|)a"])


def terminal(rng: random.Random, is_first: bool) -> str:
    begin = piece(rng) if is_first else rng.choice(["a", "b", r"\n", "[ab]"])
    return f"/{begin}{''.join(piece(rng) for _ in range(rng.randrange(3)))}/{rng.choice(['', 'm', 'm'])}"


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
