"""gl.Token: special tokens by id, never through their bytes, against languages that are written out as sets.

A text is a tuple of symbols: bytes as numbers, special tokens as `Special`. An id is allowed iff a text of the language begins with
what was read and the id's own symbols.
"""

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids

STOP, CALL, END, THINK, TWIN = 300, 301, 302, 303, 304


class Special(NamedTuple):
    id: int


Text = tuple[int | Special, ...]


def vocabulary() -> gl.Vocabulary:
    """Bytes, merged pieces, and special tokens; <think> is an added token that is text, <end> is the text of two ids."""
    rng = random.Random("pieces")
    pieces = ["".join(rng.choice("ab()<|>cl") for _ in range(rng.randint(2, 4))).encode() for _ in range(43)]
    specials = [b"</s>", b"<|call|>", b"<end>", b"<think>", b"<end>"]
    tokens = [bytes([b]) for b in range(256)] + [*pieces, b"<|call|", *specials]
    return gl.Vocabulary(tokens, stop_ids=[STOP], special_ids=[STOP, CALL, END, TWIN], size=len(tokens) + 20)


VOCAB = vocabulary()


def symbols(token: int) -> Text:
    return (Special(token),) if token in VOCAB.special_ids else tuple(VOCAB.token_bytes(token))


def assert_masks(constraint: gl.Constraint, language: set[Text], rng: random.Random, walks: int) -> None:
    ids = [t for t in range(len(VOCAB.offsets) - 1) if t != STOP]
    for _ in range(walks):
        matcher, read = constraint.matcher(), ()
        while True:
            following = {text[len(read) :] for text in language if text[: len(read)] == read}
            expected = {t for t in ids if any(rest[: len(s)] == s for rest in following for s in [symbols(t)])}
            stops = {STOP} if () in following else set()
            assert allowed_ids(matcher, VOCAB) == expected | stops, read
            for token in rng.sample(ids, 5):
                assert matcher.validate([token]) == (token in expected), (read, token)
            if not expected or rng.random() < 0.05:
                break
            specials = [t for t in expected if t > STOP]
            token = rng.choice(specials if specials and rng.random() < 0.5 else sorted(expected))
            assert matcher.advance(token)
            read = (*read, *symbols(token))


def joined(left: set[Text], right: set[Text]) -> set[Text]:
    return {a + b for a in left for b in right}


def random_language(rng: random.Random, depth: int) -> tuple[Any, set[Text]]:
    """A grammar, and all its texts."""
    kind = rng.choice(["token", "id", "words", "gbnf", "regex"]) if depth == 0 else rng.choice("+|+|s")
    if kind == "token":
        return gl.Token("<|call|>"), {(Special(CALL),)}
    if kind == "id":
        token = rng.choice([CALL, END, TWIN])
        return gl.Token(token), {(Special(token),)}
    if kind == "words":
        words = rng.sample(["a", "ab", "(", "<|call|>", "", "<"], 2)
        return gl.Choices(words), {tuple(w.encode()) for w in words}
    if kind == "regex":
        return gl.Regex("[ab]{0,2}"), {tuple(w) for w in (b"", b"a", b"b", b"aa", b"ab", b"ba", b"bb")}
    if kind == "gbnf":
        text = f'root ::= "(" <[{END}]>? ")" | "a" <|call|> "b"?'
        brackets = {tuple(b"()"), (40, Special(END), 41)}
        return gl.Gbnf(text), brackets | {(97, Special(CALL)), (97, Special(CALL), 98)}
    (left, some), (right, others) = random_language(rng, depth - 1), random_language(rng, depth - 1)
    if kind == "+":
        return left + right, joined(some, others)
    return left | right, some | others


@pytest.mark.parametrize("count", [14, pytest.param(100, marks=pytest.mark.proof)])
def test_masks_of_random_grammars(count: int) -> None:
    rng, with_tokens = random.Random("special"), 0
    for _ in range(count):
        grammar, language = random_language(rng, rng.choice([1, 2, 2, 3]))
        if len(language) > 400:
            continue
        with_tokens += any(isinstance(symbol, Special) for text in language for symbol in text)
        assert_masks(gl.compile(grammar, VOCAB), language, rng, 6)
    assert with_tokens >= 15 * count / 25


def test_never_through_its_bytes() -> None:
    constraint = gl.compile(gl.Token("<|call|>") + "x", VOCAB)
    assert allowed_ids(constraint.matcher(), VOCAB) == {CALL}
    assert not constraint.matcher().advance_bytes(b"<|call|>")
    assert not constraint.matcher().advance_bytes(b"<")
    text = gl.compile(gl.Choices(["<|call|>x"]), VOCAB).matcher()
    assert not text.advance(CALL)
    assert text.advance_bytes(b"<|call|>x")


@pytest.mark.parametrize("inner", ["lalr", "earley"])
def test_around_a_lark_grammar(inner: str) -> None:
    """A lexeme ends before a special token; that it may not be longer is about text only."""
    lark = 'start: A B?\nA: /a+/\nB: "b"' if inner == "lalr" else 'start: A "a" | A\nA: /a+/'
    matcher = gl.compile(gl.Token(CALL) + gl.Lark(lark) + gl.Token(END), VOCAB).matcher()
    assert allowed_ids(matcher, VOCAB) == {CALL}
    assert matcher.advance(CALL)
    assert END not in allowed_ids(matcher, VOCAB)
    assert matcher.advance(97)
    assert END in allowed_ids(matcher, VOCAB)
    assert matcher.advance(END)
    assert allowed_ids(matcher, VOCAB) == {STOP}


def test_everything_else_a_matcher_does() -> None:
    brackets = gl.Gbnf('root ::= "(" root? ")"')
    constraint = gl.compile(gl.Token("<|call|>") + brackets + gl.Token(END) + gl.Token(TWIN), VOCAB)
    matcher = constraint.matcher()
    assert matcher.forced_tokens() == [CALL, 40]
    assert matcher.forced_bytes() == b""
    assert matcher.explain(CALL) == "allowed"
    reasons = {
        END: "a special token, and the grammar asks for no such token here",
        97: "it is 'a'; expected the token '<|call|>'",
        STOP: "the text may not end here; expected the token '<|call|>'",
    }
    for token, reason in reasons.items():
        assert matcher.explain(token).splitlines()[0] == reason
    assert matcher.validate([CALL, 40, 41, END, TWIN, STOP]) == 6

    mask = gl.allocate_mask(7, VOCAB.size)
    gl.fill_tree(matcher, [CALL, 40, 41, END, 40, CALL], [-1, 0, 1, 2, -1, 1], mask)
    alone = constraint.matcher()
    for row, token in enumerate([None, CALL, 40, 41, END]):
        assert token is None or alone.advance(token)
        single = gl.allocate_mask(1, VOCAB.size)
        alone.fill_mask(single)
        assert np.array_equal(single[0], mask[row])
    assert not mask[5:].any()

    restored = constraint.restore(alone.snapshot())
    assert allowed_ids(restored, VOCAB) == {TWIN}
    alone.rollback(1)
    assert END in allowed_ids(alone, VOCAB)
    again = gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB)
    assert again.grammar == constraint.grammar
    assert allowed_ids(again.matcher(), VOCAB) == {CALL}
    assert matcher.validate([CALL]) == 1


def test_budgets_count_a_special_token_as_one() -> None:
    grammar = gl.Token("<|call|>") + gl.Gbnf(f'root ::= "(" root? <[{END}]> ")" | "x"') + gl.Token(TWIN)
    constraint, rng = gl.compile(grammar, VOCAB), random.Random("budget")
    assert constraint.matcher().min_tokens_left == 3
    with pytest.raises(ValueError, match="max_tokens=2 may not be enough"):
        constraint.matcher(max_tokens=2)
    for most in (3, 4, 9, 20):
        matcher = constraint.matcher(max_tokens=most)
        for used in range(most + 1):
            token = rng.choice(sorted(allowed_ids(matcher, VOCAB)))
            assert matcher.advance(token)
            if matcher.is_finished:
                break
            assert used < most


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("<|cal|>", r"no special token '<\|cal\|>'; there are '<\|call\|>'"),
        ("<think>", r"303 \(b'<think>'\) is ordinary text"),
        ("</s>", r"300 \(b'</s>'\) ends a text"),
        (STOP, r"ends a text"),
        ("<end>", r"2 special tokens have the text '<end>' \(ids 302, 304\)"),
        (VOCAB.size, r"there is no token 325: the ids of this vocabulary are 0 to 324"),
        (-1, r"there is no token -1"),
        ("", r"no special token ''"),
    ],
)
def test_what_is_refused(name: str | int, message: str) -> None:
    with pytest.raises(gl.GrammarError, match=message):
        gl.compile("a" + gl.Token(name), VOCAB)


def test_what_is_no_token() -> None:
    for wrong in (None, 1.5, True, b"<|call|>"):
        with pytest.raises(TypeError):
            gl.Token(wrong)  # type: ignore[arg-type]
    empty = gl.Vocabulary([b"a", b"b"], stop_ids=[1], special_ids=[3], size=5)
    with pytest.raises(gl.GrammarError, match="has no token"):
        gl.compile(gl.Token(3), empty)
    with pytest.raises(gl.GrammarError, match="none at all"):
        gl.compile(gl.Token("<x>"), gl.Vocabulary([b"a", b"b"], stop_ids=[1]))
