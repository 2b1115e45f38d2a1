"""Masks inside texts that take most characters, where subtrees of the vocabulary are passed over, against a reading in Python."""

import functools
import random
from dataclasses import dataclass

import grammarlm as gl
from grammarlm.layout import utf8
from grammarlm.masks.machines.stack.arena_plan import kinds_below
from tests.counts import tiers
from tests.laws.laws import allowed_ids

ESCAPES = '"\\n'
CHARACTERS = [
    "a",
    "e",
    "z",
    "0",
    " ",
    "\t",
    "\n",
    '"',
    "\\",
    "'",
    "/",
    ",",
    "!",
    "é",
    "\u0800",
    "中",
    "\ud7ff",
    "\ufeff",
    "😀",
    "\U0010ffff",
]
BROKEN = [
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xff",
    b"\xe0\x80\x80",
    b"\xf8",
    b"\xc3a",
    b"\xe4\xb8e",
]


@dataclass(frozen=True)
class Language:
    """Texts in quotes, with commas between them: no excluded characters, but escapes. Behind a text that is the keyword there is a
    `!`: in Lark always, where a string outranks a pattern, in GBNF where it is no other text, too."""

    excluded: str
    beyond: str  # which characters beyond ASCII are excluded: "none", "all", or a range as in a class
    quote: str
    keyword: str
    notation: str

    def grammar(self) -> gl.Gbnf | gl.Lark:
        ranges = {"none": "", "all": "\\x80-\\U0010FFFF"}.get(self.beyond, self.beyond)
        chars = "".join(f"\\x{ord(c):02x}" for c in self.excluded) + self.quote + "\\\\" + ranges
        keyword = f"{self.quote}{self.keyword}{self.quote}".replace('"', '\\"')
        if self.notation == "gbnf":
            return gl.Gbnf(
                f'root ::= one ("," one)*\none ::= text | "{keyword}!"\n'
                f'text ::= [{self.quote}] ([^{chars}] | "\\\\" ["\\\\n])* [{self.quote}]\n'
            )
        return gl.Lark(
            f'start: one ("," one)*\none: TEXT | KEYWORD "!"\nKEYWORD: "{keyword}"\n'
            f'TEXT: /{self.quote}([^{chars}]|\\\\["\\\\n])*{self.quote}/\n'
        )

    def takes(self, text: bytes) -> bool:
        """Does a text of the language begin like this?"""
        beginnings, keyword, quote = cut_characters(self.beyond), self.keyword.encode(), self.quote.encode()
        at, state, content, is_text = 0, "before", b"", True
        while at < len(text):
            length = 1 if text[at] < 0x80 else next((n for n in (2, 3, 4) if is_character(text[at : at + n])), 0)
            if length == 0:  # no character, or one that is cut off
                rest = text[at:]
                if state == "inside" and (keyword.startswith(content + rest) or (is_text and rest in beginnings)):
                    return True
                ends = state == "inside" and (is_text or content == keyword)
                return (state == "before" or ends) and quote.startswith(rest)
            character = text[at : at + length]
            at += length
            if state == "inside" and character == quote:
                is_key = content == keyword
                if not is_text and not is_key:
                    return False
                state = "behind" if not is_key else "key" if self.notation == "lark" or not is_text else "either"
            elif state == "inside":
                excluded = character.decode() in self.excluded or not is_taken(self.beyond, ord(character.decode()))
                content, is_text = content + character, is_text and not excluded
                if not is_text and not keyword.startswith(content):
                    return False
                state = "escape" if character == b"\\" else "inside"
            elif state == "escape":
                if character.decode() not in ESCAPES:
                    return False
                content, state = content + character, "inside"
            elif state == "before":
                if character != quote:
                    return False
                state, content, is_text = "inside", b"", True
            elif character == b"!" and state in ("key", "either"):
                state = "behind"
            elif character == b"," and state in ("behind", "either"):
                state = "before"
            else:
                return False
        return True


def is_character(text: bytes) -> bool:
    try:
        return len(text.decode()) == 1
    except UnicodeDecodeError:
        return False


def is_taken(beyond: str, point: int) -> bool:
    """Is it a character of ASCII, or one beyond it that is not excluded?"""
    first, end = {"none": (0, 0), "all": (0x80, 0x110000)}.get(beyond, (ord(beyond[0]), ord(beyond[-1]) + 1))
    return not first <= point < end and not 0xD800 <= point < 0xE000


@functools.cache
def cut_characters(beyond: str) -> frozenset[bytes]:
    """The characters beyond ASCII that are taken, each cut off: of 64 that differ in the last byte the first stands for all."""
    found = set()
    for block in range(0x80, 0x110000, 64):
        point = next((point for point in range(block, block + 64) if is_taken(beyond, point)), None)
        if point is not None:
            spelled = chr(point).encode()
            found.update(spelled[:n] for n in range(1, len(spelled)))
    return frozenset(found)


def languages(rng: random.Random, count: int) -> list[Language]:
    return [
        Language(
            "".join(rng.sample("az0\t\n',/", rng.randint(0, 4))),
            rng.choice(["none", "none", "all", "中-中", "\u4e00-\u9fff", "\U0001f600-\U0001f64f"]),
            rng.choice(['"', '"', "é", "😀"]),
            rng.choice(["ae", "za", "e e", "中0", "0", "a" * 9]),
            rng.choice(["gbnf", "lark"]),
        )
        for _ in range(count)
    ]


def vocabulary(rng: random.Random, size: int) -> gl.Vocabulary:
    """All single bytes, and tokens of whole characters, of some cut off, and of what is not UTF-8; some of them twice."""
    pieces = [c.encode("utf-8", "surrogatepass") for c in CHARACTERS]
    tokens = [bytes([b]) for b in range(256)]
    for _ in range(size):
        token = b"".join(rng.choice(pieces) for _ in range(rng.randint(1, 4)))
        kind = rng.random()
        if kind < 0.3:
            token = token[rng.randint(0, 2) : len(token) - rng.randint(0, 2)] or b"e"
        elif kind < 0.4:
            token += rng.choice(BROKEN) + rng.choice(pieces)
        tokens.append(token)
    return gl.Vocabulary([*tokens, b"e", b' "', b' "', b"</s>"], stop_ids=[len(tokens) + 3])


def check(seed: int, grammars: int, walks: int, size: int) -> int:
    """Random texts, token by token; how many masks were right."""
    rng, masks = random.Random(seed), 0
    vocab = vocabulary(rng, size)
    for language in languages(rng, grammars):
        constraint = gl.compile(language.grammar(), vocab)
        for _ in range(walks):
            matcher, text = constraint.matcher(), b""
            for _ in range(6):
                allowed = allowed_ids(matcher, vocab) - set(vocab.stop_ids)
                expected = {i for i in range(vocab.size - 1) if language.takes(text + vocab.token_bytes(i))}
                assert allowed == expected, (language, text, [vocab.token_bytes(i) for i in allowed ^ expected])
                masks += 1
                token = rng.choice(sorted(allowed))
                assert matcher.advance(token)
                text += vocab.token_bytes(token)
    return masks


@tiers("seed, grammars, walks, size", (0, 8, 6, 400), *((seed, 20, 12, 1500) for seed in range(100, 112)))
def test_inside_texts(seed: int, grammars: int, walks: int, size: int, record_property) -> None:
    masks = check(seed, grammars, walks, size)
    assert masks > 100
    record_property("masks", masks)


def test_the_kinds_below_each_node() -> None:
    trie = vocabulary(random.Random(1), 3000).trie
    paths, path = [], b""
    for byte, depth in zip(trie.byte.tolist(), trie.depth.tolist(), strict=True):
        path = path[: depth - 1] + bytes([byte])
        paths.append(path)
    found = kinds_below(trie)
    for node, end in enumerate(trie.end.tolist()):
        expected = 0
        for below in paths[node:end]:
            expected |= 1 << int(utf8.KINDS[below[-1]])
            if not is_beginning(below):
                expected |= 1 << utf8.BROKEN
        assert int(found[node]) == expected, paths[node]


def is_beginning(text: bytes) -> bool:
    """Of well-formed UTF-8."""
    return any(
        _decodes(text + rest)
        for rest in (b"", b"\x80", b"\xa0", b"\x80\x80", b"\xa0\x80", b"\x90\x80\x80", b"\x80\x80\x80")
    )


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_kinds_fit_into_a_word() -> None:
    assert sorted(set(utf8.KINDS.tolist())) == list(range(1, int(utf8.KINDS.max()) + 1))
    assert utf8.KINDS.max() <= 62
