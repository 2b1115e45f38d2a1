"""Tokens that are ordinary text, asked for by their ids: beside their bytes, never instead of them.

A text is a tuple of symbols, bytes as numbers and `Named` ids. A token that is read may be the bytes that it spells, or one `Named`
of its id: an id is allowed iff one of the two leads on in a text of the language. xgrammar says the same of its own notation.
"""

import random
from typing import Any, NamedTuple

import pytest
import xgrammar

import grammarlm as gl
from grammarlm.layout.csr import DEAD
from grammarlm.masks.csr import automaton as automaton_module
from tests.laws.laws import allowed_ids

TOKENS = [b"</s>", b"<x>", b"a", b"a", b"aa", b"ab", b"abc", b"b", b"bc", b"c", b"d"]
C_BYTE = ord("c")
STOP, SPECIAL, A, TWIN, AA, AB, ABC, B, BC, C = range(10)
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[SPECIAL, STOP], size=len(TOKENS) + 2)


class Named(NamedTuple):
    id: int


Text = tuple[Any, ...]


def readings(token: int) -> list[Text]:
    spelled = [] if token in (SPECIAL, STOP) else [tuple(TOKENS[token])]
    return [(Named(token),), *spelled]


def after(rests: set[Text], token: int) -> set[Text]:
    return {rest[len(s) :] for rest in rests for s in readings(token) if rest[: len(s)] == s}


def expected(rests: set[Text]) -> set[int]:
    stops = {STOP} if () in rests else set()
    return {t for t in range(len(TOKENS)) if t != STOP and after(rests, t)} | stops


def assert_masks(constraint: gl.Constraint, language: set[Text], rng: random.Random, walks: int) -> int:
    """How many tokens were read that go on by their id and by their bytes, in ways that differ."""
    both = 0
    for _ in range(walks):
        matcher, rests = constraint.matcher(), language
        while True:
            allowed = expected(rests)
            assert allowed_ids(matcher, VOCAB) == allowed, rests
            for token in range(len(TOKENS)):
                assert matcher.validate([token]) == (token in allowed), (rests, token)
            forced = matcher.forced_bytes()
            assert all(text.startswith(forced) for text in spellings(rests)), (rests, forced)
            if not allowed - {STOP} or rng.random() < 0.05:
                break
            token = rng.choice(sorted(allowed - {STOP}))
            assert matcher.advance(token)
            ways = [{r[len(s) :] for r in rests if r[: len(s)] == s} for s in readings(token)]
            both += len(ways) == 2 and bool(ways[0]) and bool(ways[1]) and ways[0] != ways[1]
            rests = after(rests, token)
            if rng.random() < 0.3:  # elsewhere, and in a new epoch
                matcher = constraint.restore(matcher.snapshot())
    return both


def spellings(rests: set[Text]) -> set[bytes]:
    """The bytes of each text: those of named text tokens, too."""
    return {
        b"".join(bytes([s]) if isinstance(s, int) else b"" if s.id == SPECIAL else TOKENS[s.id] for s in rest)
        for rest in rests
    }


def joined(left: set[Text], right: set[Text]) -> set[Text]:
    return {a + b for a in left for b in right}


def random_body(rng: random.Random, depth: int) -> tuple[str, set[Text]]:
    """A body of EBNF, and all its texts."""
    kind = rng.choice(["id", "id", "ids", "text", "text", "range"]) if depth == 0 else rng.choice("+|+|?n")
    if kind in ("id", "ids"):
        ids = rng.sample(range(1, 10), 1 if kind == "id" else 3)
        return f"Token({', '.join(map(str, ids))})", {(Named(i),) for i in ids}
    if kind == "text":
        word = rng.choice(["a", "b", "ab", "abc", "aa", "bc", "c"])
        return f'"{word}"', {tuple(word.encode())}
    if kind == "range":
        return "[ab]", {(97,), (98,)}
    body, texts = random_body(rng, depth - 1)
    if kind == "?":
        return f"({body})?", texts | {()}
    if kind == "n":
        return f"({body}){{1,2}}", texts | joined(texts, texts)
    other, others = random_body(rng, depth - 1)
    return (f"{body} {other}", joined(texts, others)) if kind == "+" else (f"({body} | {other})", texts | others)


def random_grammars(seed: str, count: int) -> list[tuple[str, set[Text]]]:
    rng, found = random.Random(seed), []
    while len(found) < count:
        body, texts = random_body(rng, rng.choice([1, 2, 2, 3]))
        if "Token" in body and len(texts) < 200 and texts != {()}:
            found.append((f"root ::= {body}", texts))
    return found


@pytest.mark.parametrize("part", range(4))
def test_masks_of_random_grammars(part: int) -> None:
    rng, both = random.Random(f"walks {part}"), 0
    for text, language in random_grammars(f"by id {part}", 40):
        both += assert_masks(gl.compile(gl.Ebnf(text), VOCAB), language, rng, 5)
    assert both >= 5


def xgrammar_compiler() -> Any:
    tokens = [token.decode() for token in TOKENS]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[STOP])
    return xgrammar.GrammarCompiler(info)


def peer_ids(matcher: Any) -> set[int]:
    bits = xgrammar.allocate_token_bitmask(1, len(TOKENS))
    matcher.fill_next_token_bitmask(bits)
    return {token for token in range(len(TOKENS)) if int(bits[0, 0]) >> token & 1}


PEER = [
    'root ::= Token(5, 7) "a"',
    'root ::= "a" Token(5)',
    'root ::= "a" | Token(2) "b" | Token(5)',
    'root ::= "ab" | Token(5) "c"',
    'root ::= (Token(1) "a")*',
    'root ::= Token(1) Token(2)* "b"',
    "root ::= x x\nx ::= Token(2, 5)",
    'root ::= "a" (Token(7) | "b") "c"',
    'root ::= "a" root "b" | Token(2, 5)',
]


@pytest.mark.parametrize("text", PEER)
def test_xgrammar_says_the_same(text: str) -> None:
    """Of these; of others its masks leave out what they allow here, where a text may end before a Token(), say."""
    compiled = xgrammar_compiler().compile_grammar(xgrammar.Grammar.from_ebnf(text))
    constraint = gl.compile(gl.Ebnf(text), VOCAB)
    for walk in range(8):
        rng, peer, own = random.Random(walk), xgrammar.GrammarMatcher(compiled), constraint.matcher()
        for _ in range(6):
            allowed = allowed_ids(own, VOCAB)
            assert allowed == peer_ids(peer)
            token = rng.choice(sorted(allowed))
            assert own.advance(token)
            assert peer.accept_token(token)
            if own.is_finished:
                break


def test_masks_of_a_recursive_grammar() -> None:
    texts: set[Text] = {(C_BYTE,)}
    for _ in range(7):  # more often than tokens are read
        texts = joined(joined({(Named(AB),)}, texts | {()}), {(C_BYTE,)}) | joined(
            joined({(97, 98)}, texts), {(98, C_BYTE)}
        )
        texts.add((C_BYTE,))
    constraint = gl.compile(gl.Ebnf('root ::= Token(5) root? "c" | "ab" root "bc" | "c"'), VOCAB)
    rng = random.Random("recursive")
    for _ in range(40):
        matcher, rests = constraint.matcher(), texts
        for _ in range(4):
            assert allowed_ids(matcher, VOCAB) == expected(rests)
            if not (tokens := sorted(expected(rests) - {STOP})):
                break
            token = rng.choice(tokens)
            assert matcher.advance(token)
            rests = after(rests, token)


def test_the_same_in_each_notation() -> None:
    grammars = [
        gl.Ebnf('root ::= "a" (Token(5) | "c")'),
        gl.Gbnf('root ::= "a" (<[5]> | "c")'),
        gl.Regex("a") + (gl.Token(AB) | gl.Choices(["c"])),
    ]
    for grammar in grammars:
        language = {(97, Named(AB)), (97, 99)}
        assert_masks(gl.compile(grammar, VOCAB), language, random.Random(1), 4)


def test_bytes_alone_are_not_the_token() -> None:
    matcher = gl.compile(gl.Ebnf('root ::= "c" Token(5) | "cab" "c"'), VOCAB).matcher()
    assert matcher.advance(C)
    assert matcher.forced_bytes() == b""
    assert matcher.forced_tokens() == []
    by_bytes = matcher.fork()
    assert by_bytes.advance_bytes(b"ab")
    assert allowed_ids(by_bytes, VOCAB) == {C}
    assert matcher.advance(AB)
    assert allowed_ids(matcher, VOCAB) == {C, STOP}
    assert matcher.explain(A).splitlines()[0] == "it is 'a'; expected 'c'"


def test_a_budget_counts_the_token_as_one() -> None:
    constraint = gl.compile(gl.Ebnf('root ::= Token(6) Token(6) | "abc" root "c"'), VOCAB)
    assert constraint.matcher().min_tokens_left == 2
    for seed in range(20):
        rng, matcher = random.Random(seed), constraint.matcher(max_tokens=7)
        for _ in range(8):
            if matcher.advance(rng.choice(sorted(allowed_ids(matcher, VOCAB)))) and matcher.is_finished:
                break
        assert matcher.is_finished


@pytest.mark.parametrize(
    "grammar",
    [
        gl.Token(AB) + gl.Lark("start: /a+/"),
        (gl.Token(AB) + "a") & gl.Regex("a*"),
        gl.Token(AB) + gl.Tokens([[A, B]]),
    ],
)
def test_where_it_is_refused(grammar: Any) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=r"the token 5 \(b'ab'\) by its id .* write its text as a string"):
        gl.compile(grammar, VOCAB)


def test_where_a_token_leads_is_not_told_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton_module, "MANY", 1)
    constraint = gl.compile(gl.Ebnf('root ::= [a-c]* (Token(5) "d")?'), VOCAB)
    automaton, matcher = automaton_module.CsrAutomaton(constraint), constraint.matcher()
    state = automaton.start
    for token in (A, AB, A):
        state = automaton.follow(state, token)
        assert matcher.advance(token)
    assert automaton.follow(automaton.follow(automaton.start, AB), B) != DEAD
    by_id, by_bytes = automaton.follow(automaton.start, AB), automaton.follow(automaton.follow(automaton.start, A), B)
    assert by_id != by_bytes
