"""gl.Tokens and gl.TokenList as grammars, alone and beside others, against languages that are written out.

A text is a tuple of segments: bytes, which any tokens may spell, and tuples of tokens, which stand for themselves.
"""

import itertools
import random

import pytest

import grammarlm as gl
from tests.laws.laws import allowed_ids

PIECES = [b"ab", b"a,", b", ", b",", b"b, a", b"ba", b"aa", b": ", b":", b"a:", b": a", b"}", b"a}", b'"', b'":']
TOKENS = [*(bytes([i]) for i in range(256)), *PIECES, b"</s>", b"<item_1>", b"<item_2>", b"<item_3>", b"<item_4>", b""]
STOP = TOKENS.index(b"</s>")
ITEMS = list(range(STOP + 1, STOP + 5))  # special ids
VOCAB = gl.Vocabulary(TOKENS, stop_ids=[STOP], special_ids=[STOP, *ITEMS], size=len(TOKENS) + 9)
A, B, AB = 97, 98, TOKENS.index(b"ab")
Segment = bytes | tuple[int, ...]
Text = tuple[Segment, ...]


def joined(segments: Text) -> Text:
    """Bytes beside bytes are one segment; empty ones are none."""
    found: list[Segment] = []
    for segment in segments:
        if found and segment and isinstance(segment, bytes) and isinstance(found[-1], bytes):
            found[-1] += segment
        elif segment:
            found.append(segment)
    return tuple(found)


def after_token(texts: set[Text], token: int) -> set[Text]:
    """What is left of the texts that begin with a token."""
    found = set()
    for text in texts:
        if not text:
            continue
        first, *rest = text
        if isinstance(first, tuple):
            if first[0] == token:
                found.add(joined((first[1:], *rest)))
        elif token < STOP and first.startswith(TOKENS[token]):
            found.add(joined((first[len(TOKENS[token]) :], *rest)))
    return found


def fewest(texts: set[Text]) -> int:
    """The fewest tokens that complete one of the texts."""
    return min(sum(len(s) if isinstance(s, tuple) else len_of_bytes(s) for s in text) for text in texts)


def len_of_bytes(data: bytes) -> int:
    ends = [0] + [len(data)] * len(data)
    for end in range(1, len(data) + 1):
        ends[end] = min(ends[end - len(t)] + 1 for t in TOKENS[:STOP] if data[:end].endswith(t))
    return ends[-1]


def assert_walks(grammar: gl.Tokens, texts: set[Text], rng: random.Random, walks: int = 12) -> int:
    constraint, masks = gl.compile(grammar, VOCAB), 0
    language = {joined(text) for text in texts}
    for _ in range(walks):
        matcher, left = constraint.matcher(), language
        while True:
            allowed = {t: after for t in range(len(TOKENS)) if (after := after_token(left, t))}
            stops = {STOP} if () in left else set()
            assert allowed_ids(matcher, VOCAB) == set(allowed) | stops, left
            assert matcher.is_accepting == bool(stops)
            for token in rng.sample(range(len(TOKENS)), 4):
                assert matcher.validate([token]) == (token in allowed or token in stops), (left, token)
            masks += 1
            if not allowed:
                break
            token = rng.choice(sorted(allowed))
            assert matcher.advance(token)
            left = allowed[token]
    return masks


def random_items(rng: random.Random) -> list[list[int]]:
    """Of different lengths, some the beginnings of others, some twice; text and special ids side by side."""
    alphabet = rng.sample([A, B, AB, 44, *ITEMS, TOKENS.index(b"ba")], 4)
    items = [[rng.choice(alphabet) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 6))]
    return items + [item[:-1] for item in items[:2] if len(item) > 1] + items[:1]


def lists(items: list[list[int]], counts: range, is_distinct: bool, separator: bytes = b"") -> set[Text]:
    distinct = sorted({tuple(item) for item in items})
    found = set()
    for n in counts:
        ways = itertools.permutations(distinct, n) if is_distinct else itertools.product(distinct, repeat=n)
        for way in ways:
            parts: list[Segment] = []
            for item in way:
                parts += [separator, item] if parts else [item]
            found.add(tuple(parts))
    return found


def test_one_item():
    for seed in range(25):
        rng = random.Random(seed)
        items = random_items(rng)
        assert_walks(gl.Tokens(items), {(tuple(item),) for item in items}, rng, 3)


@pytest.mark.parametrize("is_distinct", [True, False])
@pytest.mark.parametrize("separator", ["", ", ", "aa"])
def test_lists_of_items(is_distinct, separator):
    for seed in range(6):
        rng = random.Random(f"{seed}{separator}")
        items = random_items(rng)[: 4 if is_distinct else 3]
        low = rng.randint(1, min(2, len({tuple(i) for i in items})))
        high = low + rng.randint(0, 2)
        texts = lists(items, range(low, high + 1), is_distinct, separator.encode())
        merged = {joined(text) for text in texts}  # without a separator items stand side by side
        flat = {(tuple(itertools.chain(*text)),) for text in merged} if not separator else merged
        grammar = gl.TokenList(gl.Tokens(items), low, high, distinct=is_distinct, separator=separator)
        assert_walks(grammar, flat, rng, 4)


SET = [[ITEMS[0], ITEMS[2]], [ITEMS[0], ITEMS[3], ITEMS[1]], [ITEMS[0]], [A, AB], [B]]
ONE = [(tuple(item),) for item in SET]
BESIDE = {
    "text before": (gl.Choices(["a", "ab: "]) + gl.Tokens(SET), {(t, *i) for t in (b"a", b"ab: ") for i in ONE}),
    "text behind": (gl.Tokens(SET) + gl.Choices(["", "a}", "b"]), {(*i, t) for t in (b"", b"a}", b"b") for i in ONE}),
    "one of two": (gl.Tokens(SET) | gl.Choices(["aab", "b"]), {*ONE, (b"aab",), (b"b",)}),
    "items between": ("{" + gl.Tokens(SET) + "}" + gl.Tokens([[A], [AB, ITEMS[0]]]), {
        (b"{", *i, b"}", *j) for i in ONE for j in [((A,),), ((AB, ITEMS[0]),)]
    }),
    "two side by side": (gl.Tokens([[A], [A, B]]) + gl.Tokens([[B, B], [AB]]), {
        ((*i, *j),) for i in [(A,), (A, B)] for j in [(B, B), (AB,)]
    }),
    "in a list, then text": (gl.TokenList(gl.Tokens([[A], [B]]), 1, 2) + ", " + gl.Choices(["a", "ab"]), {
        (i, b", ", t) for i in [(A,), (B,), (A, B), (B, A)] for t in (b"a", b"ab")
    }),
    "an optional part between": (gl.Tokens([[A]]) + gl.Choices(["", ": "]) + gl.Tokens([[B], [AB]]), {
        ((A,), b, j) for b in (b"", b": ") for j in [(B,), (AB,)]
    }),
    "a schema behind": ('{"item": "' + gl.Tokens(SET) + '", "n": ' + gl.JsonSchema({"const": None}, whitespace="compact") + "}", {
        (b'{"item": "', *i, b'", "n": null}') for i in ONE
    }),
    "a special token and a grammar with a stack": (
        gl.Token(ITEMS[0]) + gl.Gbnf('root ::= "a" | "(" "a" ")"') + gl.Tokens([[A], [ITEMS[0]]]), {
        ((ITEMS[0],), t, j) for t in (b"a", b"(a)") for j in [(A,), (ITEMS[0],)]
    }),
}  # fmt: skip


def tokens_joined(texts: set[Text]) -> set[Text]:
    """Items side by side are one run of tokens."""
    found = set()
    for text in texts:
        parts: list[Segment] = []
        for segment in joined(text):
            if parts and isinstance(segment, tuple) and isinstance(parts[-1], tuple):
                parts[-1] += segment
            else:
                parts.append(segment)
        found.add(tuple(parts))
    return found


@pytest.mark.parametrize("name", BESIDE)
def test_beside_other_grammars(name):
    grammar, texts = BESIDE[name]
    assert assert_walks(grammar, tokens_joined(texts), random.Random(name), 8) >= 16


def test_free_text_after_a_list():
    constraint = gl.compile(gl.TokenList(gl.Tokens([[ITEMS[0]], [ITEMS[1]]]), 1, 5) + gl.Text(), VOCAB)
    matcher = constraint.matcher()
    assert allowed_ids(matcher, VOCAB) == {ITEMS[0], ITEMS[1]}
    assert matcher.advance(ITEMS[1])
    text = {t for t in range(STOP) if t < 0x80 or t in range(0xC2, 0xF5) or t > 255}
    assert allowed_ids(matcher, VOCAB) == text | {ITEMS[0], STOP}
    assert matcher.advance_bytes("é, ab".encode())
    assert allowed_ids(matcher, VOCAB) == text | {STOP}


def test_budgets_are_exact_for_one_item():
    for seed in range(20):
        rng = random.Random(seed)
        items = random_items(rng)
        constraint = gl.compile(gl.Tokens(items), VOCAB)
        left = {(tuple(item),) for item in items}
        matcher, budget = constraint.matcher(), fewest(left) + rng.randint(0, 2)
        assert matcher.min_tokens_left == fewest(left)
        with pytest.raises(ValueError, match="may not be enough"):
            constraint.matcher(max_tokens=fewest(left) - 1)
        matcher = constraint.matcher(max_tokens=budget)
        while True:
            moves = {t: after_token(left, t) for t in {A, B, AB, 44, *ITEMS, TOKENS.index(b"ba")}}
            allowed = {t for t, after in moves.items() if after and fewest(after) <= budget - 1}
            assert allowed_ids(matcher, VOCAB) == allowed | ({STOP} if () in left else set())
            if not allowed:
                break
            token = rng.choice(sorted(allowed))
            assert matcher.advance(token)
            left, budget = moves[token], budget - 1


@pytest.mark.parametrize("name", [n for n in BESIDE if n != "a schema behind"])
def test_texts_end_within_their_budget(name):
    grammar, texts = BESIDE[name]
    constraint, rng = gl.compile(grammar, VOCAB), random.Random(name)
    need = constraint.matcher().min_tokens_left
    assert need >= fewest(tokens_joined(texts))
    for _ in range(10):
        budget = need + rng.randint(0, 2)
        matcher = constraint.matcher(max_tokens=budget)
        for _ in range(budget + 1):
            ids = allowed_ids(matcher, VOCAB)
            assert ids
            if ids == {STOP}:
                break
            assert matcher.advance(rng.choice(sorted(ids - {STOP})))
        assert matcher.is_accepting


def test_lists_end_within_their_budget():
    items = gl.Tokens([[A, A, A], [B], [ITEMS[0], A], [AB, AB, A, B]])
    constraint = gl.compile(gl.TokenList(items, 3, 4, separator=", "), VOCAB)
    assert constraint.matcher().min_tokens_left == 1 + 1 + 2 + 1 + 3
    for seed in range(30):
        rng, matcher = random.Random(seed), constraint.matcher(max_tokens=8 + seed % 5)
        while not matcher.is_accepting:
            assert matcher.advance(rng.choice(sorted(allowed_ids(matcher, VOCAB) - {STOP})))


def test_bytes_follow_the_items_that_they_spell():
    constraint = gl.compile(gl.Tokens([[A, B, 44], [AB, ITEMS[0]], [ITEMS[0], A]]), VOCAB)
    matcher = constraint.matcher()
    assert matcher.advance_bytes(b"ab")  # [a, b] and [ab]
    assert allowed_ids(matcher, VOCAB) == {44, ITEMS[0]}
    matcher.rollback(1)
    assert not matcher.advance_bytes(b"<item_1>")  # special ids are no text
    assert not matcher.advance_bytes(b"abab")
    assert matcher.advance_bytes(b"")
    assert matcher.advance(AB)
    assert constraint.restore(matcher.snapshot()).validate([ITEMS[0], STOP]) == 2
    beside = gl.compile("a" + gl.Tokens([[A, B, 44], [AB, ITEMS[0]]]) + gl.Text(), VOCAB).matcher()
    assert beside.advance_bytes(b"aab")
    assert allowed_ids(beside, VOCAB) == {44, ITEMS[0]}
    assert beside.advance_bytes(b", rest")
    assert beside.is_accepting


def test_explanations_name_tokens():
    matcher = gl.compile(gl.Tokens(SET), VOCAB).matcher()
    assert "no item goes on with the token 44" in matcher.explain(44)
    assert "<item_1>" in matcher.explain(44)
    assert matcher.explain(ITEMS[0]) == "allowed"
    assert matcher.advance(B)
    assert "the item is complete" in matcher.explain(B)
    budgeted = gl.compile(gl.Tokens(SET), VOCAB).matcher(max_tokens=1)
    assert "the tokens that are left" in budgeted.explain(A)
    beside = gl.compile(gl.Tokens([[ITEMS[1]]]) + "a", VOCAB).matcher()
    assert "<item_2>" in beside.explain(A)


WRONG = [
    (lambda: gl.Tokens([[A], [A, STOP]]), gl.GrammarError, "item 1 holds the stop id"),
    (lambda: gl.Tokens([[VOCAB.size]]), gl.GrammarError, "the ids of this vocabulary are 0 to"),
    (lambda: gl.Tokens([[len(TOKENS) - 1]]), gl.GrammarError, "which has no token"),
    (lambda: gl.Tokens([[len(TOKENS)]]), gl.GrammarError, "which has no token"),
    (lambda: gl.Tokens([]), gl.UnsatisfiableGrammar, "no items"),
    (lambda: gl.TokenList(gl.Tokens([[A], [A]]), 2, 3), gl.UnsatisfiableGrammar, "the set has only 1"),
    (lambda: gl.TokenList(gl.Tokens([[A], []]), 1, 3), gl.UnsupportedFeature, "no tokens"),
    (lambda: gl.Tokens([[A]]) & gl.Ban(["a"]), gl.UnsupportedFeature, "'&' with a Tokens"),
    (lambda: "a" + (gl.Tokens([[A]]) - "a"), gl.UnsupportedFeature, "'-' with a Tokens"),
    (lambda: gl.JsonSchema({"enum": [gl.Tokens([[A]])]}), (TypeError, gl.GrammarError), "Tokens"),
]


@pytest.mark.parametrize(("make", "kind", "message"), WRONG)
def test_refusals(make, kind, message):
    with pytest.raises(kind, match=message):
        gl.compile(make(), VOCAB)


def test_canonical_tokens_are_refused(tmp_path):
    with pytest.raises(gl.UnsupportedFeature, match="canonical_only"):
        gl.compile(gl.Tokens([[A]]), VOCAB, canonical_only=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(([[1]],), "takes a gl.Tokens"), ((gl.Tokens([[1]]), 0, 2), "fewest"), ((gl.Tokens([[1]]), 3, 2), "fewest")],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gl.TokenList(*arguments)


@pytest.mark.proof
def test_many_random_sets(record_property):
    masks = 0
    for seed in range(400):
        rng = random.Random(f"many{seed}")
        items = random_items(rng)
        masks += assert_walks(gl.Tokens(items), {(tuple(item),) for item in items}, rng, 8)
        few = items[:3]
        texts = {(tuple(itertools.chain(*text)),) for text in lists(few, range(1, 3), True)}
        masks += assert_walks(gl.TokenList(gl.Tokens(few), 1, 2), texts, rng, 8)
    record_property("cases", masks)
