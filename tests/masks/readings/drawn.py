"""Small random grammars with named parts, each with its tree for `tests/oracles/all_readings.py`, and texts for them."""

import random
from dataclasses import replace

import grammarlm as gl
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.compose import Choice, Grammar, Sequence
from grammarlm.grammars.repeat import Repeat
from tests.oracles.all_readings import Joined, Node, Part, Piece, Repeated, readings

MARK = b"\xff"  # a special token, in the oracle's texts
MARKER = "<|mark|>"
LETTERS = [b"a", b"b", b",", b"1", b'"', MARK]
TOKENS = [bytes([byte]) for byte in range(255)] + [
    b"ab",
    b"a,",
    b",b",
    b"bab",
    b'"a',
    b'a"',
    b'",',
    b'"a"',
    b"1,",
    b",1",
    b"11",
]
STOP, SPECIAL = len(TOKENS), len(TOKENS) + 1
VOCAB = gl.Vocabulary([*TOKENS, b"</s>", MARKER.encode()], stop_ids=[STOP], special_ids=[STOP, SPECIAL])
FEW = gl.Vocabulary([b"a", b"ab", b"b,", b",", b'"a"', b"b1", b"1", b"</s>"], stop_ids=[7])  # no b alone, no quote

PLAIN = ["a", "b", "a*", "b?", "[ab]+", ",", "", "[ab,]*", "ab|a", "a,?", "1?", "[1,]*"]
SCHEMA = gl.JsonSchema({"enum": ["a", 1, 11, "ab"]}, whitespace="compact", spelling="plain")
RULED = [
    (gl.Gbnf('root ::= "a" root "b" | ","'), "|".join(f"a{{{n}}},b{{{n}}}" for n in range(4))),
    (gl.Gbnf('root ::= "" | "," root'), ",*"),
    # Of lark's, the last lexeme takes what it can of the text that follows.
    (gl.Lark("start: /[ab]+/"), "[ab]+(?![ab])"),
    (gl.Lark('start: WORD ("," WORD)*\nWORD: /a+/'), "a+(?!a)(?:,a+(?!a))*"),
]


class Drawn:
    """`draw()` gives a grammar and its tree, `texts(count)` some that it may have.

    kinds   "regular"; "ruled": with rules and special tokens; "all": with schemas, too
    """

    def __init__(self, seed: object, kinds: str):
        self.rng, self.kinds = random.Random(f"readings {seed}"), kinds

    def draw(self, depth: int = 4) -> tuple[Grammar, Node]:
        rng, kind = self.rng, self.rng.random()
        if depth == 0 or kind < 0.2:
            return self._piece()
        if kind < 0.45:
            name = rng.choice("xyz")
            grammar, node = self.draw(depth - 1)
            is_schema = isinstance(node, Piece) and node.label == ""
            return Capture(name, grammar), replace(node, label=name) if is_schema else Part(name, node)
        if kind < 0.6:
            grammar, node = self.draw(depth - 1)
            if node.pattern is not None and not isinstance(node, Piece):  # re takes for ever to read repeats of repeats
                grammar, node = Capture("x", grammar), Part("x", node)
            least = rng.choice([0, 0, 1, 2])
            most = rng.choice([None, None, least, least + 1, least + 2])
            separator, between = (None, None) if rng.random() < 0.5 else self._piece()
            return Repeat(grammar, least, most, separator), Repeated(node, least, most, between)
        sides = [self.draw(depth - 1) for _ in range(rng.randint(2, 3))]
        kind_of, is_choice = (Choice, True) if rng.random() < 0.4 else (Sequence, False)
        return kind_of(tuple(grammar for grammar, _ in sides)), Joined(tuple(node for _, node in sides), is_choice)

    def _piece(self) -> tuple[Grammar, Piece]:
        kind = self.rng.random()
        if self.kinds == "all" and kind < 0.25:
            return SCHEMA, Piece('"a"|1|11|"ab"', is_apart=True, label="")
        if self.kinds != "regular" and kind < 0.35:
            return gl.Token(MARKER), Piece("\xff", is_apart=True)
        if self.kinds != "regular" and kind < 0.55:
            grammar, expression = self.rng.choice(RULED)
            return grammar, Piece(expression)
        expression = self.rng.choice(PLAIN)
        return gl.Regex(expression), Piece(expression)

    def texts(self, node: Node, count: int) -> list[bytes]:
        """Short texts, most of which are in the language where it has any of them."""
        drawn = {b"".join(self.rng.choices(LETTERS, k=self.rng.randint(0, 6))) for _ in range(40 * count)}
        inside = [text for text in sorted(drawn) if any(end == len(text) for end, _ in readings(node, text, 0))]
        outside = self.rng.sample(sorted(drawn), count // 4)
        return self.rng.sample(inside, min(count, len(inside))) + outside


def tokens_of(rng: random.Random, text: bytes, vocab: gl.Vocabulary = VOCAB) -> list[int] | None:
    """The text in tokens, drawn; None where none spell it."""
    found, at = [], 0
    while at < len(text):
        fitting = [t for t in vocab.text_ids.tolist() if text.startswith(vocab.token_bytes(t), at)]
        fitting += [SPECIAL] if text.startswith(MARK, at) else []
        if not fitting:
            return None
        found.append(rng.choice(fitting))
        at += 1 if found[-1] == SPECIAL else len(vocab.token_bytes(found[-1]))
    return found
