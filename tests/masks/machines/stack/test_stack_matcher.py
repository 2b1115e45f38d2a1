"""What a matcher promises, for grammars with a stack: budgets, forced text, trees, snapshots, saved constraints, explanations.

The texts that budgets end are read by oracles that share nothing with the machine: stock lark, `json`, `re`, a few lines of Python.
"""

import random

import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.masks.machines.stack.stack_examples import CASES, COMPILED, NESTED, VOCABULARIES

SPARE = (0, 2, 15, 80)


_CONSTRAINTS: dict[tuple[str, str], gl.Constraint] = {}
every_case = pytest.mark.parametrize("case", CASES)
every_vocabulary = pytest.mark.parametrize("name", VOCABULARIES)


def constraint_of(case: str, name: str) -> gl.Constraint:
    if (case, name) not in _CONSTRAINTS:
        _CONSTRAINTS[case, name] = gl.compile(CASES[case][0](), COMPILED[name])
    return _CONSTRAINTS[case, name]


def texts_of(matcher: gl.Matcher, vocab: gl.Vocabulary) -> list[int]:
    return sorted(allowed_ids(matcher, vocab) - set(vocab.stop_ids))


def random_walk(case: str, name: str, steps: int, seed: object = 0) -> list[int]:
    """Tokens that can be read from the start."""
    vocab, rng = COMPILED[name], random.Random(f"{case} {name} {seed}")
    matcher, tokens = constraint_of(case, name).matcher(), list[int]()
    while len(tokens) < steps and (texts := texts_of(matcher, vocab)):
        tokens.append(rng.choice(texts))
        assert matcher.advance(tokens[-1])
    return tokens


@every_vocabulary
@every_case
def test_walks_end_within_their_budget_and_validly(case: str, name: str) -> None:
    constraint, vocab, accepts = constraint_of(case, name), COMPILED[name], CASES[case][1]
    least = constraint.matcher().min_tokens_left
    with pytest.raises(ValueError, match=rf"max_tokens={least - 1} may not be enough"):
        constraint.matcher(max_tokens=least - 1)
    for spare in SPARE:
        rng = random.Random(f"{case} {name} {spare}")
        matcher, tokens, plain = constraint.matcher(max_tokens=least + spare), list[int](), constraint.matcher()
        while texts := texts_of(matcher, vocab):
            assert matcher.min_tokens_left <= least + spare - len(tokens)
            ordinary = allowed_ids(plain, vocab)
            assert set(texts) <= ordinary
            refused = sorted(ordinary - set(texts) - set(vocab.stop_ids))
            for token in rng.sample(refused, min(2, len(refused))):
                assert not matcher.advance(token)
            if matcher.is_accepting and rng.random() < 0.05:
                break
            tokens.append(rng.choice(texts))
            assert matcher.advance(tokens[-1])
            assert plain.advance(tokens[-1])
        assert matcher.is_accepting, tokens
        assert len(tokens) <= least + spare
        text = b"".join(map(vocab.token_bytes, tokens)).decode()
        assert accepts(text), text


@every_vocabulary
@every_case
def test_a_token_is_allowed_iff_the_rest_is_enough(case: str, name: str) -> None:
    constraint, vocab, rng = constraint_of(case, name), COMPILED[name], random.Random(f"{case} {name}")
    budget = constraint.matcher().min_tokens_left + 3
    narrow, wide = constraint.matcher(max_tokens=budget), constraint.matcher()
    for left in range(budget, -1, -1):
        expected = set()
        for token in texts_of(wide, vocab):
            after = wide.fork()
            assert after.advance(token)
            if after.min_tokens_left < left:
                expected.add(token)
        assert set(texts_of(narrow, vocab)) == expected, left
        if not expected:
            break
        token = rng.choice(sorted(expected))
        assert narrow.advance(token)
        assert wide.advance(token)


@every_vocabulary
@every_case
def test_some_token_goes_nearer_to_the_end(case: str, name: str) -> None:
    """From wherever a walk has led: `min_tokens_left` is kept by a walk that always goes nearer."""
    vocab = COMPILED[name]
    for steps in (0, 3, 9):
        matcher = constraint_of(case, name).matcher()
        for token in random_walk(case, name, steps):
            assert matcher.advance(token)
        while not matcher.is_accepting:
            left = matcher.min_tokens_left
            forks = [(fork := matcher.fork(), fork.advance(token)) for token in texts_of(matcher, vocab)]
            nearer = [fork for fork, _ in forks if fork.min_tokens_left < left]
            assert nearer, (case, left)
            matcher = nearer[0]


def test_budgets_hang_on_the_text_alone() -> None:
    """A constraint that has seen other texts before gives the same masks; so a snapshot holds in any process."""
    vocab = COMPILED["merged"]
    for case in CASES:
        tokens = random_walk(case, "merged", 12)
        seasoned, fresh = constraint_of(case, "merged"), gl.compile(CASES[case][0](), vocab)
        for seed in range(3):
            random_walk(case, "merged", 10, seed)
        budget = len(tokens) + 6 + seasoned.matcher().min_tokens_left
        a, b = seasoned.matcher(max_tokens=budget), fresh.matcher(max_tokens=budget)
        for token in tokens:
            assert a.min_tokens_left == b.min_tokens_left
            assert allowed_ids(a, vocab) == allowed_ids(b, vocab)
            assert a.advance(token) == b.advance(token)


@every_vocabulary
@every_case
def test_forced_text_is_what_all_masks_say(case: str, name: str) -> None:
    constraint, vocab = constraint_of(case, name), COMPILED[name]
    for steps in (0, 1, 4):
        matcher = constraint.matcher()
        for token in random_walk(case, name, steps, "forced"):
            assert matcher.advance(token)
        ahead, chain = matcher.fork(), list[int]()
        while len(ids := allowed_ids(ahead, vocab)) == 1 and not ids & set(vocab.stop_ids):
            chain += ids
            assert ahead.advance(chain[-1])
        assert matcher.forced_tokens() == chain
        forced, byte_wise = matcher.forced_bytes(), matcher.fork()
        for place in range(len(forced) + 1):
            following = {b for b in range(256) if byte_wise.fork().advance_bytes(bytes([b]))}
            if place == len(forced):
                assert byte_wise.is_accepting or len(following) > 1
            else:
                assert not byte_wise.is_accepting
                assert following == {forced[place]}
                assert byte_wise.advance_bytes(forced[place : place + 1])


def test_forced_tokens_of_a_closing_text() -> None:
    constraint = constraint_of("nested", "bytes")
    matcher = constraint.matcher(max_tokens=7)
    assert matcher.advance_bytes(b"([(")
    assert bytes(matcher.forced_tokens()) == b"x)])"
    assert matcher.forced_bytes() == b"x)])"
    assert constraint.matcher().forced_bytes() == b""


@every_vocabulary
@every_case
def test_a_tree_is_a_replay_of_its_paths(case: str, name: str) -> None:
    constraint, vocab, rng = constraint_of(case, name), COMPILED[name], random.Random(f"{case} {name} tree")
    for budget in (None, constraint.matcher().min_tokens_left + 4):
        root = constraint.matcher(max_tokens=budget)
        matchers: list[gl.Matcher | None] = [root]
        tokens, parents = [], []
        for _ in range(12):
            parent = rng.randrange(len(matchers))
            above = matchers[parent]
            allowed = sorted(allowed_ids(above, vocab)) if above else []
            token = rng.choice(allowed) if allowed and rng.random() < 0.8 else rng.randrange(vocab.size)
            tokens.append(token)
            parents.append(parent - 1)
            child = above.fork() if above else None
            matchers.append(child if child and child.advance(token) else None)
        mask, alone = gl.allocate_mask(13, vocab.size), gl.allocate_mask(1, vocab.size)
        gl.fill_tree(root, tokens, parents, mask)
        for row, matcher in enumerate(matchers):
            if matcher is None:
                assert not mask[row].any()
            else:
                matcher.fill_mask(alone)
                assert (mask[row] == alone[0]).all()


@every_vocabulary
@every_case
def test_snapshots_and_saved_constraints_go_on_where_they_were_taken(case: str, name: str) -> None:
    constraint, vocab = constraint_of(case, name), COMPILED[name]
    again = gl.Constraint.from_bytes(constraint.to_bytes(), vocab)
    assert again.to_bytes() == constraint.to_bytes()
    for budget in (None, constraint.matcher().min_tokens_left + 6):
        matcher, rng = constraint.matcher(max_tokens=budget), random.Random(f"{case} {name} snapshot")
        for step in range(6):
            texts = texts_of(matcher, vocab)
            if not texts:
                break
            assert matcher.advance(rng.choice(texts))
            if step % 3 == 1:
                assert matcher.advance_bytes(matcher.forced_bytes(limit=2))
            for restored in (constraint.restore(matcher.snapshot()), again.restore(matcher.snapshot())):
                assert allowed_ids(restored, vocab) == allowed_ids(matcher, vocab)
                assert restored.min_tokens_left == matcher.min_tokens_left
                assert restored.forced_bytes() == matcher.forced_bytes()
                restored.rollback(1)
                assert restored.snapshot() != matcher.snapshot()


def test_tokens_after_which_single_bytes_cannot_end_the_text() -> None:
    """`{` has no token of its own to end it; the grammar may still be left by what tokens spell."""
    tokens = [b"(", b")", b"x", b"(x", b"[x", b"[", b"x)]", b"</s>"]
    vocab = gl.Vocabulary(tokens, stop_ids=[7])
    constraint = gl.compile(gl.Gbnf(NESTED), vocab)
    assert constraint.report.tokens_spell_all is False
    matcher = constraint.matcher()
    assert allowed_ids(matcher, vocab) == {0, 2, 3}
    assert not matcher.advance(5)
    assert not matcher.advance_bytes(b"[")
    assert matcher.advance(0)
    assert allowed_ids(matcher, vocab) == {0, 2, 3}
    assert matcher.advance(2)
    assert allowed_ids(matcher, vocab) == {1}
    assert matcher.forced_tokens() == [1]
    budgeted = constraint.matcher(max_tokens=3)
    assert budgeted.advance(0)
    assert allowed_ids(budgeted, vocab) == {2}


def test_a_lexer_over_a_vocabulary_that_lacks_bytes() -> None:
    """Without a token for the blank two names cannot be told apart; `y` is spelled by no single byte."""
    text = "start: NAME NAME | NUMBER NAME\nNAME: /[a-y]+/\nNUMBER: /[0-9]+/\n%ignore / /"
    with_blank = gl.Vocabulary([b"a", b"1", b"ay", b" ", b"</s>"], stop_ids=[4])
    without = gl.Vocabulary([b"a", b"1", b"ay", b"</s>"], stop_ids=[3])
    first, second = gl.compile(gl.Lark(text), with_blank).matcher(), gl.compile(gl.Lark(text), without).matcher()
    assert allowed_ids(first, with_blank) == {0, 1, 2, 3}
    assert second.min_tokens_left == 2
    assert second.advance(1)
    assert allowed_ids(second, without) == {0, 1, 2}
    assert second.advance(2)
    assert 3 in allowed_ids(second, without)


def test_a_grammar_that_no_single_bytes_spell() -> None:
    vocab = gl.Vocabulary([b"(", b")", b"</s>"], stop_ids=[2])
    with pytest.raises(gl.UnsupportedFeature, match="is missing those for bytes of the grammar: 0x5B, 0x5D, 0x78"):
        gl.compile(gl.Gbnf(NESTED), vocab)
    longer = gl.Vocabulary([b"ab", b"</s>"], stop_ids=[1])
    with pytest.raises(gl.UnsupportedFeature, match="whether longer tokens do is not decided"):
        gl.compile(gl.Gbnf('root ::= "ab"'), longer)
    assert gl.compile(gl.Regex("ab"), longer).matcher().advance(0)


def test_a_report_says_where_only_single_bytes_end_texts() -> None:
    vocab = gl.Vocabulary([b"(", b")", b"x", b"yy", b"</s>"], stop_ids=[4])
    constraint = gl.compile(gl.Gbnf('root ::= "(" root ")" | "x" | "yy"'), vocab)
    assert "texts must end by tokens of single bytes" in constraint.report.caps[0]
    assert allowed_ids(constraint.matcher(), vocab) == {0, 2, 3}


# Grammar, what is repeated, and then: the bytes that may come, and whether the text may end.
NESTED_TO_THE_RIGHT = {
    "a list": ('start: "x" | "x" "," start', b"x,", b"x", b",", True),
    "a sign": ('start: sum\nsum: sum "+" sign | sign\nsign: "-" sign | "x"', b"-", b"x", b"+", True),
    "a power": ('start: power "."\npower: "x" "^" power | "x"', b"x^", b"x", b".^", False),
    "brackets": ('start: "(" start ")" | "x"', b"(", b"x", b")", False),
}


@pytest.mark.parametrize("name", NESTED_TO_THE_RIGHT)
def test_texts_nested_to_the_right(name: str) -> None:
    """20,000 deep, read at once or token by token: what can end is looked for in a stack of that depth."""
    grammar, part, atom, following, ends = NESTED_TO_THE_RIGHT[name]
    vocab, deep = COMPILED["bytes"], 20_000 // len(part)
    constraint = gl.compile(gl.Lark(grammar), vocab)
    at_once, stepwise = constraint.matcher(), constraint.matcher()
    assert at_once.advance_bytes(part * deep)
    for byte in part * (deep // 10):
        stepwise.fill_mask(gl.allocate_mask(1, vocab.size))
        assert stepwise.advance_bytes(bytes([byte]))
    for matcher in (stepwise, at_once):
        before = {vocab.token_bytes(i) for i in allowed_ids(matcher, vocab)}
        assert before == {part[:1], atom} or before == {atom}
        assert matcher.advance_bytes(atom)
        allowed = allowed_ids(matcher, vocab)
        assert b"".join(sorted(vocab.token_bytes(i) for i in allowed - set(vocab.stop_ids))) == following
        assert matcher.is_accepting is ends is bool(allowed & set(vocab.stop_ids))


# Grammar, text so far, next byte (none: the end), what is said: why, and where.
EXPLAINED = [
    (
        "json lark",
        b'{"a"',
        b"1",
        "it is '1'; expected '\\n', ' ', ':'",
        "in pair < object < value < start; next: COLON",
    ),
    (
        "json lark",
        b"[1",
        b"}",
        "it is '}'; expected '\\n', ' ', ',', '.', '0' to '9', ']'",
        "in value < array < value < start; within NUMBER; next: COMMA, RSQB",
    ),
    ("json lark", b"tr", b"a", "it is 'a'; expected 'u'", "within TRUE"),
    ("json gbnf", b'{"a": [1', b"a", "it is 'a'; expected '\\n', ' ', ',', '0' to '9', ']'", "in value"),
    ("json gbnf", b"", b"a", "it is 'a'; expected '\"', '-', '0' to '9', '[', 'f', 'n', 't', '{'", "in value"),
    (
        "arithmetic",
        b"1+",
        b"*",
        "it is '*'; expected ' ', '(', '-', '0' to '9'",
        "in sum < start; next: LPAR, MINUS, NUMBER",
    ),
    (
        "arithmetic",
        b"(1",
        b"(",
        "it is '('; expected ' ', ')' to '+', '-', '0' to '9'",
        "in atom < product < sum < atom < product < sum < ...; within NUMBER; next: MINUS, PLUS, RPAR, STAR",
    ),
    (
        "c-like",
        b"int",
        b"=",
        "it is '='; expected '\\n', ' ', '#', 'a' to 'z'",
        "in stmt < start; within INT, NAME; next: NAME",
    ),
    (
        "c-like",
        b"if (x",
        b";",
        "it is ';'; expected '\\n', ' ', '#', ')', '+', 'a' to 'z'",
        "in stmt < start; within NAME; next: PLUS, RPAR",
    ),
    ("keywords", b"let x b", b"1", "it is '1'; expected 'e'", "in start; within BE"),
    ("keywords", b"do", b";", "it is ';'; expected ' ', 'a' to 'z'", "in start; next: NAME"),
    ("not LALR", b"((q", b"(", "it is '('; expected ' ', ')'", "in a; next: RPAR"),
    ("nested", b"([", b")", "it is ')'; expected '(', '[', 'x'", "in root"),
    ("left recursion", b"<a", b">", "it is '>'; expected 'b'", "in root"),
    ("regex, then nested", b"ab: (x", b"]", "it is ']'; expected ')'", "in root"),
    ("either", b"\xc3\xa9\xc3", b"(", "it is '('; expected 0xa9", ""),
    (
        "a, then arithmetic",
        b"a(",
        b")",
        "it is ')'; expected ' ', '(', '-', '0' to '9'",
        "in atom < product < sum < start; next: LPAR, MINUS, NUMBER",
    ),
    ("nested", b"(x)", b"x", "it is 'x'; expected nothing", ""),
    ("nested", b"(", b"", "the text may not end here; expected '(', '[', 'x'", "in root"),
]


@pytest.mark.parametrize(("case", "text", "token", "reason", "where"), EXPLAINED)
def test_explanations(case: str, text: bytes, token: bytes, reason: str, where: str) -> None:
    matcher = constraint_of(case, "bytes").matcher()
    assert matcher.advance_bytes(text)
    assert matcher.explain(token[0] if token else 256) == "\n".join(filter(None, [reason, where]))


def test_explanations_are_short_everywhere() -> None:
    for case in CASES:
        matcher = constraint_of(case, "bytes").matcher()
        for token in random_walk(case, "bytes", 25, "explain"):
            for other in (0, ord("a"), ord("("), 256):
                assert 0 < len(matcher.explain(other)) <= 500
            assert matcher.advance(token)
