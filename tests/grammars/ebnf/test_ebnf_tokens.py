"""ExcludeToken and TokenTagDispatch: every token of a small vocabulary after random beginnings, beside an oracle and xgrammar."""

import collections
import random
from typing import Any

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.oracles.whole_tokens import Term, WholeTokens

BYTES = [bytes([byte]) for byte in range(256)]
A, B, C = b"abc"
CALL, DONE, AB, CA, ABC, STOP = range(256, 262)
VOCAB = gl.Vocabulary([*BYTES, b"<call>", b"<done>", b"ab", b"ca", b"abc", b"</s>"], [STOP], (CALL, DONE))
NAMED = [CALL, DONE, A, B, AB, CA]


def allowed(matcher: gl.Matcher) -> set[int]:
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    return {token for token in range(VOCAB.size) if mask[0, token // 32] >> (token % 32) & 1}


def read(text: str, tokens: list[int]) -> gl.Matcher:
    matcher = gl.compile(gl.Ebnf(text), VOCAB).matcher()
    assert all(map(matcher.advance, tokens))
    return matcher


class RandomGrammar:
    """A term, and the same as EBNF: some of it as rules of their own."""

    def __init__(self, rng: random.Random):
        self.rng, self.rules = rng, dict[str, str]()
        self.term, root = self._made(3)
        self.text = f"root ::= {root}\n" + "".join(f"{name} ::= {body}\n" for name, body in self.rules.items())

    def _some(self, most: int) -> list[int]:
        return self.rng.sample(NAMED, self.rng.randint(1, most))

    def _rule(self, text: str) -> str:
        name = f"r{len(self.rules)}"
        self.rules[name] = text
        return name

    def _made(self, depth: int) -> tuple[Term, str]:
        """A term and an item of a sequence."""
        kinds = ["text", "tokens", "other", "other"] + ["seq", "seq", "or", "repeat", "dispatch"] * (depth > 0)
        kind, rng = self.rng.choice(kinds), self.rng
        if kind == "text":
            letters = rng.choice(["a", "b", "ab", "c", "abc", "ca", ""])
            return ("text", letters), f'"{letters}"'
        if kind in ("tokens", "other"):
            ids = self._some(3)
            name = "Token" if kind == "tokens" else "ExcludeToken"
            return (kind, ids), f"{name}({', '.join(map(str, ids))})"
        if kind == "repeat":
            term, text = self._made(depth - 1)
            low, high = rng.choice([(0, None), (1, None), (0, 1), (1, 2), (2, 3), (2, None)])
            return ("repeat", term, low, high), f"({text}){{{low},{'' if high is None else high}}}"
        if kind == "dispatch":
            return self._dispatch(depth - 1)
        parts = [self._made(depth - 1) for _ in range(rng.randint(2, 3))]
        text = (" " if kind == "seq" else " | ").join(text for _, text in parts)
        return (kind, [term for term, _ in parts]), self._rule(text) if rng.random() < 0.3 else f"({text})"

    def _dispatch(self, depth: int) -> tuple[Term, str]:
        tags, loop = self._some(2), self.rng.random() < 0.5
        excludes = [token for token in self._some(2) if token not in tags]
        rules = [(tag, *self._made(depth)) for tag in tags]
        given = [f"({tag}, {self._rule(text)})" for tag, _, text in rules]
        given += [] if loop else ["loop_after_dispatch=false"]
        given += [f"excludes=({', '.join(map(str, excludes))},)"] if excludes else []
        return (
            "dispatch",
            [(tag, term) for tag, term, _ in rules],
            loop,
            excludes,
        ), f"TokenTagDispatch({', '.join(given)})"


@tiers("seed, count", (0, 60), (1, 3_000))
def test_every_token_of_random_grammars(seed: int, count: int, record_property: Any) -> None:
    outcomes = collections.Counter[str]()
    for number in range(count):
        rng = random.Random(1_000_000 * seed + number)
        grammar = RandomGrammar(rng)
        if "ExcludeToken" not in grammar.text and "TokenTagDispatch" not in grammar.text:
            continue
        oracle = WholeTokens(grammar.term, VOCAB)
        constraint = gl.compile(gl.Ebnf(grammar.text), VOCAB)
        for _ in range(4):
            matcher, states = constraint.matcher(), oracle.start
            for _ in range(rng.randint(1, 6)):
                here, there = allowed(matcher), oracle.allowed(states)
                assert here == there, (grammar.text, here ^ there)
                outcomes["masks"] += 1
                ways = [token for token in [*NAMED, C, ABC] if token in here] or [*(here - {STOP})]
                if not ways:
                    break
                token = rng.choice(ways)
                assert matcher.advance(token)
                states = oracle.after(states, token)
    record_counts(record_property, outcomes, cases="masks")
    assert outcomes["masks"] > 4 * count


ALL = {*range(VOCAB.size)} - {STOP}
LISTS = 'root ::= "a" ExcludeToken(97, 257)* lists\nlists ::= "[" lists* "]"'
MIXED = """
root ::= TagDispatch(("<c>", middle), excludes=("no"))
middle ::= Token(97, 98) TokenTagDispatch((256, leaf), loop_after_dispatch=false, excludes=(257,)) "!"
leaf ::= [0-9]+
"""
CALLS = 'root ::= TokenTagDispatch((256, call), excludes=(257))\ncall ::= "(" Token(97, 259) ")"'


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        (LISTS, [], {A}),
        (LISTS, [A], ALL - {A, DONE}),
        (LISTS, [A, CALL, B], ALL - {A, DONE}),
        (LISTS, [A, *b"[["], ALL - {A, DONE}),
        (LISTS, [A, *b"[[]]"], ALL - {A, DONE} | {STOP}),
        (CALLS, [CALL], {*b"("}),
        (CALLS, [CALL, *b"("], {A, CA}),
        (CALLS, [CALL, *b"(", CA, *b")"], ALL - {DONE} | {STOP}),
        (MIXED, [*b"x<c>"], {A, B}),
        (MIXED, [*b"x<c>", A], ALL - {DONE}),
        (MIXED, [*b"x<c>", A, B, CALL], {*b"0123456789"}),
        (MIXED, [*b"x<c>", A, B, CALL, *b"12"], {*b"0123456789!"}),
        (MIXED, [*b"x<c>", A, B, CALL, *b"12!n"], {*range(128), *range(0xC2, 0xF5), AB, CA, ABC, STOP} - {*b"o"}),
    ],
)
def test_beside_rules_and_free_text(text: str, tokens: list[int], expected: set[int]) -> None:
    """Rules that call themselves beside sets of tokens, ordinary text by its id, and a dispatch of tokens in one of texts."""
    assert allowed(read(text, tokens)) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("root ::= ExcludeToken(257, 98)", []),
        ('root ::= "c" ExcludeToken(98)* "b"', [C, A, C]),
        ("root ::= ExcludeToken(97){1,2}", [C]),
        ("root ::= TokenTagDispatch()", [A, CALL]),
        ("root ::= TokenTagDispatch(excludes=(257, 98,))", [A, CALL]),
        (CALLS, [A, CALL, *b"(", A, *b")", CALL]),
        (CALLS, [A, CALL, *b"(", CA]),
        ("root ::= TokenTagDispatch((256, x), (97, y), loop_after_dispatch=false)\nx ::= Token(97)\ny ::= [^]", [B, A, B]),
        ("root ::= TokenTagDispatch((256, x), (256, y))\nx ::= [a]\ny ::= Regex(\"b+\")", [CALL, B, B, B]),
    ],
)  # fmt: skip
def test_masks_beside_xgrammar(text: str, tokens: list[int]) -> None:
    """What differs: a token that ends what stands before and goes on is none of its own here, and xgrammar takes it; where the
    end of a text is not excluded it allows its token for one of them."""
    xgrammar = pytest.importorskip("xgrammar")
    names = [VOCAB.token_bytes(token) for token in range(VOCAB.size)]
    info = xgrammar.TokenizerInfo(names, xgrammar.VocabType.RAW, vocab_size=VOCAB.size, stop_token_ids=[STOP])
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_grammar(xgrammar.Grammar.from_ebnf(text))
    theirs, ours = xgrammar.GrammarMatcher(compiled), gl.compile(gl.Ebnf(text), VOCAB).matcher()
    words = xgrammar.allocate_token_bitmask(1, VOCAB.size)
    for token in [*tokens, None]:
        theirs.fill_next_token_bitmask(words)
        there = {token for token in range(VOCAB.size) if int(words[0, token // 32]) >> (token % 32) & 1}
        here = allowed(ours)
        assert here <= there
        assert there - here <= {STOP, AB, CA, ABC}
        assert token is None or (ours.advance(token) and theirs.accept_token(token))


def test_one_grammar_as_tag_and_as_ebnf() -> None:
    """A structural tag's token_dispatch and TokenTagDispatch are the same parts."""
    rule = {"type": "grammar", "grammar": 'root ::= "x"+'}
    dispatch = {"type": "token_dispatch", "rules": [["<call>", rule]], "exclude_tokens": [DONE]}
    tag = gl.compile(gl.StructuralTag({"type": "structural_tag", "format": dispatch}), VOCAB)
    ebnf = gl.compile(gl.Ebnf('root ::= TokenTagDispatch((256, x), excludes=(257))\nx ::= "x"+'), VOCAB)
    for tokens in ([], [A], [CALL], [CALL, *b"xx"], [CALL, *b"xx", CALL]):
        here, there = ebnf.matcher(), tag.matcher()
        assert all(here.advance(token) and there.advance(token) for token in tokens)
        assert allowed(here) == allowed(there)


@pytest.mark.parametrize(
    ("text", "error", "words", "position"),
    [
        ('root ::= "(" ExcludeToken(98) root | "a"', gl.UnsupportedFeature, "the rule 'root', which calls itself", 13),
        ("root ::= TokenTagDispatch((256, x))\nx ::= y | \"a\"\ny ::= root", gl.UnsupportedFeature, "calls itself", 9),
        ("root ::= x*\nx ::= ExcludeToken(300)", gl.GrammarError, "the vocabulary has no token 300", 18),
        ("root ::= ExcludeToken(1)* Token(300)", gl.GrammarError, "the vocabulary has no token 300", 26),
        ("root ::= ExcludeToken(1)* Token(261)", gl.GrammarError, "the token 261 ends a text", 26),
        (f"root ::= ExcludeToken({', '.join(map(str, range(261)))})", gl.GrammarError, "no token is left", 9),
        ("root ::= (ExcludeToken(98) \"a\"){2000000000,}", gl.LimitExceeded, "at most 1,073,741,824 times", None),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, error: type[gl.GrammarError], words: str, position: int | None) -> None:
    with pytest.raises(gl.GrammarError, match=words) as caught:
        gl.compile(gl.Ebnf(text), VOCAB)
    assert type(caught.value) is error
    assert caught.value.position == position


def test_what_cannot_be_combined_is_refused() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="'&' with a Tokens"):
        gl.compile(gl.Ebnf("root ::= ExcludeToken(98)*") & gl.Ban(["a"]), VOCAB)


def test_words_in_strings_and_comments_are_no_macros() -> None:
    """Nor is what no text needs: the grammar stays one of rules, and may call itself."""
    text = 'root ::= "ExcludeToken(1)" | "(" root ")" # TokenTagDispatch\nother ::= ExcludeToken(1) other'
    assert allowed(read(text, [*b"(("])) == {*b"(E"}


def test_another_tag_at_fault_is_named() -> None:
    """The error is not laid at a grammar's door that only a vocabulary makes parts of."""
    elements = [
        {"type": "grammar", "grammar": "root ::= ExcludeToken(98)"},
        {"type": "json_schema", "json_schema": {"type": "strin"}},
    ]
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": elements}}
    with pytest.raises(gl.GrammarError, match=r"^/format/elements/1/json_schema"):
        gl.compile(gl.StructuralTag(tag), VOCAB)


def test_saved_and_read_again() -> None:
    again = gl.Constraint.from_bytes(gl.compile(gl.Ebnf(CALLS), VOCAB).to_bytes(), VOCAB).matcher()
    assert all(map(again.advance, [A, CALL, *b"("]))
    assert allowed(again) == {A, CA}
