"""JSON schemas as parts of other grammars: masks against every token tried, texts against all ways to cut them into parts."""

import random

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Choice, Grammar, Sequence
from grammarlm.masks.machines.parts import borders
from grammarlm.masks.machines.parts import reader as parts_reader
from tests.counts import tiers
from tests.mask_bits import ids_of

ORDER = gl.JsonSchema({"type": "object", "properties": {"n": {"type": "integer", "maximum": 40}}, "required": ["n"]})
WORDS = gl.JsonSchema({"type": "array", "items": {"enum": ["a", "bc", None]}, "maxItems": 3})
NUMBER = gl.JsonSchema({"type": "integer", "minimum": 3, "maximum": 70})

# Tokens that cross every border between these parts, in many ways.
CROSSING = """
    {" "} } }} }] ] { n": :" "n" 12 33 3] 7< 7. 4 7a 3. </ /> k> > <k> </k> nk>{ >[ >{"n ok {" ok[" ]ok ]} ab a[ a3 think
    ``` }``` {"n":3} x[]x [] []< k>{"n":1} k>7</ 1</k>2 ["a" "] "], null] </k>[ <k>[]</k> (x) x[ ](x x) ) a":1} }]}\\"}
""".split()  # noqa: SIM905
SPACED = [
    b"}\n",
    b"}}\n",
    b"3\n",
    b"]\n",
    b"```\n{",
    b"}\n```",
    b'{"n":3}\n',
    b"}  <",
    b"> <",
    b"  ",
    b" \n ",
    b"] ",
    b" 7",
]
TOKENS = list(dict.fromkeys([bytes([b]) for b in range(256)] + [text.encode() for text in CROSSING] + SPACED))
VOCAB = gl.Vocabulary([*TOKENS, b"<eos>"], stop_ids=[len(TOKENS)], special_ids=[len(TOKENS)])

GRAMMARS = {
    "thinking": gl.Text(until="</k>") + ORDER,
    "fence": gl.Regex(r"```json\n") + ORDER + "\n```",
    "either": ORDER | WORDS | NUMBER,
    "either with text": gl.Regex("[a-k]{1,3}") | NUMBER | gl.Choices(["[]x", "7"]),
    "numbers side by side": NUMBER + NUMBER,
    "a number and its end": NUMBER + gl.Regex(r"[0-9.]{0,2}"),
    "nothing between": WORDS + gl.Regex("x?") + ORDER,
    "calls": gl.Ban(["<"]) + "<k>" + (WORDS | NUMBER) + "</k>" + gl.Ban(["<"]),
    "any text after it": ORDER + gl.Text(),
    "any text before": gl.Regex(r"[^\x00]{0,6}") + WORDS,
    "a grammar with a stack": gl.Gbnf('root ::= "(" root ")" | "x"') + WORDS + gl.Gbnf('root ::= "(" root ")" | "x"'),
    "compact": gl.JsonSchema({"type": "object"}, whitespace="compact") + " " + NUMBER,
    "anything or a part": WORDS + ";" + (gl.Text() | NUMBER),
    "anything before": gl.Text() + NUMBER,
    "text or a part": gl.Text(until="k>") + (NUMBER | gl.Text()),
    "calls in calls": gl.Ban(["<"]) | (gl.Text(until="<k>") + NUMBER + "</k>" + (gl.Ban(["<"]) | (gl.Text(until="<k>") + WORDS))),
    "parts that may be empty": NUMBER + gl.Regex("x?") + (ORDER | gl.Regex("7?")) + gl.Regex("3?") + NUMBER,
    "rests with a stack": NUMBER + gl.Gbnf('root ::= "(" root ")" | "x"') + gl.Regex("[x)]?"),
    "a string and anything": gl.JsonSchema({"type": "string"}) + gl.Regex("[^x]*"),
    "any value and anything": gl.JsonSchema({}) + gl.Regex("[^x]*"),
    "any value and a little": gl.JsonSchema({}) + gl.Regex("[^x]{0,3}"),
    "any value, a text, a number": gl.JsonSchema({}) + gl.Text(until="k>") + NUMBER,
}  # fmt: skip


def leaves(grammar: Grammar):
    return (
        [grammar]
        if not isinstance(grammar, (Sequence, Choice))
        else [g for part in grammar.parts for g in leaves(part)]
    )


class Oracle:
    """The language of a combination, by trying all places where parts may end. Each leaf is asked on its own."""

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        # By identity: the hash of a grammar reads all of it.
        self.matchers = {id(leaf): gl.compile(leaf, VOCAB).matcher() for leaf in leaves(grammar)}
        self.known: dict = {}

    def leaf(self, leaf: Grammar, text: bytes) -> tuple[bool, bool]:
        """Can it be read, is it whole?"""
        key = id(leaf), text
        if key not in self.known:
            matcher = self.matchers[id(leaf)]
            matcher.reset()
            read = matcher.advance_bytes(text)
            self.known[key] = read, read and matcher.is_accepting
        return self.known[key]

    def ends(self, grammar: Grammar, text: bytes, starts: set[int]) -> tuple[set[int], bool]:
        """Where a text of the grammar may end that begins at one of these places; may the text end within it?"""
        if isinstance(grammar, Choice):
            sides = [self.ends(part, text, starts) for part in grammar.parts]
            return set().union(*(ends for ends, _ in sides)), any(alive for _, alive in sides)
        if isinstance(grammar, Sequence):
            alive = False
            for part in grammar.parts:
                starts, here = self.ends(part, text, starts)
                alive |= here
            return starts, alive
        ends = {j for i in starts for j in range(i, len(text) + 1) if self.leaf(grammar, text[i:j])[1]}
        return ends, any(self.leaf(grammar, text[i:])[0] for i in starts)

    def verdict(self, text: bytes) -> tuple[bool, bool]:
        ends, alive = self.ends(self.grammar, text, {0})
        return alive, len(text) in ends


def allowed(matcher) -> set[int]:
    mask = gl.allocate_mask(1, VOCAB.size)
    matcher.fill_mask(mask)
    return set(ids_of(mask[0]))


def check_masks(name: str, texts: int, seed: int = 0) -> int:
    """Random texts; at each place every token of several bytes is tried, and one byte in eight."""
    grammar, rng = GRAMMARS[name], random.Random(f"{name}:{seed}")
    oracle, constraint = Oracle(grammar), gl.compile(grammar, VOCAB)
    places = 0
    for _ in range(texts):
        matcher, text = constraint.matcher(), b""
        for _ in range(12):
            mask = allowed(matcher)
            assert mask, text
            accepting = oracle.verdict(text)[1]
            assert accepting == matcher.is_accepting == (len(TOKENS) in mask), text
            for token, data in enumerate(TOKENS):
                if len(data) > 1 or token % 8 == places % 8 or (token in mask and places % 4 == 0):
                    can = oracle.verdict(text + data)[0]
                    one, other = matcher.fork(), matcher.fork()
                    assert can == (token in mask) == one.advance(token) == other.advance_bytes(data), (text, data)
                    assert allowed(one) == allowed(other) or not can, (text, data)
            places += 1
            longer = [t for t in mask if t < len(TOKENS) and len(TOKENS[t]) > 1]
            shorter = [t for t in mask if t < len(TOKENS)]
            if not shorter:
                break
            token = rng.choice(longer if longer and rng.random() < 0.7 else shorter)
            assert matcher.advance(token)
            text += TOKENS[token]
    return places


@pytest.mark.parametrize("name", GRAMMARS)
@tiers("texts", 2, 100)
def test_masks_are_what_can_be_read(texts, name, record_property):
    masks = check_masks(name, texts)
    assert masks >= 2 * texts
    record_property("cases", masks)


SKIPPING = ["calls", "calls in calls", "a string and anything", "any value and anything", "any value, a text, a number"]


@pytest.mark.parametrize("name", SKIPPING)
def test_masks_where_parts_end_in_many_places(name, monkeypatch):
    monkeypatch.setattr(borders, "FEW_ENDS", 0)
    assert check_masks(name, 3, seed=12) >= 6


def test_the_report_speaks_of_all_parts():
    report = gl.compile(ORDER + gl.Regex(" ") + WORDS, VOCAB).report
    assert {line.keyword for line in report.keywords()} >= {"properties", "maxItems", "enum"}
    assert any(cap.startswith("numbers") for cap in report.caps)


@pytest.mark.parametrize(
    ("grammar", "error", "words"),
    [
        (ORDER & gl.Ban(["x"]), gl.UnsupportedFeature, "'&' with a JsonSchema"),
        ("a" + (ORDER - "{}"), gl.UnsupportedFeature, "'-' with a JsonSchema"),
        (
            gl.Text(until="</k>") + gl.JsonSchema(False),
            gl.UnsatisfiableGrammar,
            "the part JsonSchema(false) matches no text",
        ),
        (gl.JsonSchema({"type": "nothing"}) | ORDER, gl.GrammarError, "nothing"),
        (
            gl.JsonSchema(False) | gl.JsonSchema(False),
            gl.UnsatisfiableGrammar,
            "the part JsonSchema(false) matches no text",
        ),
        (
            (ORDER + gl.Regex("a(?!a)a")) | ("x" + gl.JsonSchema(False)),
            gl.UnsatisfiableGrammar,
            "the part Regex(pattern='a(?!a)a') matches no text",
        ),
    ],
)
def test_refusals(grammar, error, words):
    with pytest.raises(error) as caught:
        gl.compile(grammar, VOCAB)
    assert words in str(caught.value)


EMPTY = {
    "schema": gl.JsonSchema(False),
    "regex": gl.Regex("a(?!a)a"),
    "rules": gl.Gbnf('root ::= root "a"'),
    "both": gl.Choices(["a"]) & gl.Choices(["b"]),
}


@pytest.mark.parametrize("other", [gl.Choices(["b"]), NUMBER, gl.Gbnf('root ::= "(" root ")" | "b"')])
@pytest.mark.parametrize("empty", EMPTY)
def test_a_side_without_a_text_is_left_out(empty, other):
    alone = allowed(gl.compile(other, VOCAB).matcher())
    side = EMPTY[empty]
    for grammar in (side | other, other | side, ("a" + side) | other, (side + gl.Choices(["b"])) | other):
        assert allowed(gl.compile(grammar, VOCAB).matcher()) == alone
    for grammar in (side + other, other + side, other + (side | side) + "c"):
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(grammar, VOCAB)


def test_all_empty_sides_are_told_of():
    with pytest.raises(gl.UnsatisfiableGrammar, match="parts without a text beside it: 1"):
        gl.compile(gl.JsonSchema(False) | gl.Regex("(?!)"), VOCAB)
    with pytest.raises(gl.UnsatisfiableGrammar, match=r"the part Regex\(pattern='\(\?!\)'\) matches no text"):
        gl.compile(NUMBER + (gl.Regex("a") + gl.Regex("(?!)")), VOCAB)


def test_a_text_that_can_be_read_in_too_many_ways(monkeypatch):
    monkeypatch.setattr(parts_reader, "MANY", 8)
    monkeypatch.setattr(parts_reader, "WIDEST", 20)
    matcher = gl.compile(gl.Regex("[^x]*") + gl.JsonSchema({"type": "array"}), VOCAB).matcher()
    assert matcher.advance_bytes(b"[" * 15)
    with pytest.raises(gl.LimitExceeded, match="more than 20 ways"):
        matcher.advance_bytes(b"[" * 10)
    assert allowed(matcher)


def test_special_tokens_beside_schemas():
    vocab = gl.Vocabulary(
        [*TOKENS, b"<eos>", b"<call>"], stop_ids=[len(TOKENS)], special_ids=[len(TOKENS), len(TOKENS) + 1]
    )
    call = len(TOKENS) + 1
    matcher = gl.compile(gl.Ban(["<"]) + gl.Token(call) + ORDER + gl.Token(call), vocab).matcher()
    assert matcher.validate([ord("a"), call, TOKENS.index(b'{"n":3}'), call, len(TOKENS)]) == 5
    assert matcher.validate([call, call]) == 1
    assert matcher.advance_bytes(b"a")
    assert matcher.advance(call)
    assert not matcher.advance_bytes(b"<call>")
