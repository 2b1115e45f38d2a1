"""What terms of strings and the caches next to them take is bounded, and what they mean does not depend on it."""

import re
from itertools import product

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.strings.ecma import parse_ecma
from grammarlm.grammars.json_schema.strings.text_algebra import TextAlgebra
from grammarlm.grammars.regular.terms import NOTHING, Term
from tests.laws.vocabularies import every_byte

THIRTY_COUNTS = "".join(f"(?=.*a.{{{i}}}b)" for i in range(30))
PATTERNS = ["(?=.*a.{1}b)(?=.*a.{2}b)(?=.*b.{2}a)", "^(?!.*(aa|bab))[ab]{2,7}$", "^(ab|a|b){1,5}$"]
TEXTS = ["".join(letters) for n in range(8) for letters in product("ab", repeat=n)]


class Forgetful(TextAlgebra):
    """Drops what it remembers at each third thing, whatever that takes."""

    drops = turns = 0

    def _remembered(self, size: int) -> None:
        self.turns += 1
        self._memos_take = 10**9 if self.turns % 3 == 0 else 0
        super()._remembered(size)
        self.drops += self.turns % 3 == 0 and self._memos_take == 0


def accepts(algebra: TextAlgebra, term: Term, text: str) -> bool:
    for byte in text.encode():
        term = next((target for bits, target in algebra.edges(term) if bits >> byte & 1), NOTHING)
    return term.nullable


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_dropped_is_made_again_and_means_the_same(pattern: str) -> None:
    algebra = Forgetful(max_bytes=10**9)
    term = parse_ecma(pattern, algebra)
    assert [accepts(algebra, term, text) for text in TEXTS] == [bool(re.search(pattern, text)) for text in TEXTS]
    assert algebra.drops > 10


def test_terms_are_refused_beyond_half_of_the_bytes() -> None:
    algebra = TextAlgebra(max_bytes=300_000)
    term = parse_ecma(THIRTY_COUNTS, algebra)
    with pytest.raises(gl.LimitExceeded, match=r"limits\.max_bytes = 300,000"):
        [accepts(algebra, term, text) for text in TEXTS[::-1]]
    assert 100_000 < algebra.nbytes <= 225_000
    algebra.forget()
    assert algebra.nbytes < 10_000


def test_the_masks_of_a_schema_close_where_its_languages_take_too_much() -> None:
    vocab = every_byte().vocabulary()
    limits = gl.Limits(max_bytes=16_000_000, max_ms=60_000)
    matcher = gl.compile(gl.JsonSchema({"type": "string", "pattern": THIRTY_COUNTS}), vocab, limits=limits).matcher()
    mask = gl.allocate_mask(1, vocab.size)

    def read(text: bytes) -> None:
        for byte in text:
            matcher.fill_mask(mask)
            assert matcher.advance(byte)

    with pytest.raises(gl.LimitExceeded, match=r"limits\.max_bytes"):
        read(b'"' + b"abbaabab" * 500)
    matcher.reset()
    read(b'"')
