"""canonical_only=True: the rows against the tokenizer itself, pair by pair; matchers over them; what is refused."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.filters.canonical import Canonical
from grammarlm.vocab.tokenizers.shapes import Shapes, named_in
from tests.counts import tiers
from tests.laws.laws import allowed_ids
from tests.mask_bits import ids_of
from tests.real_data import FOLDER, NAMES, needs_data

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Tokenizer, normalizers  # noqa: E402

from tests.masks.filters.canonical_tokenizers import LLAMA, TOKENIZERS, vocabulary  # noqa: E402


@pytest.fixture(scope="module", params=TOKENIZERS)
def built(request) -> tuple[Tokenizer, gl.Vocabulary]:
    tokenizer = TOKENIZERS[request.param]()
    return tokenizer, vocabulary(tokenizer)


def assert_row(canonical: Canonical, vocab: gl.Vocabulary, last: int | None, tokens: list[int]) -> int:
    """Each token whose bytes and the last one's are a text is in the row iff the tokenizer makes these two tokens of it."""
    row, judged = set(ids_of(canonical.row(last))), 0
    before = [] if last is None else [last]
    for token in tokens:
        data = b"".join(map(vocab.token_bytes, [*before, token]))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        judged += 1
        assert (token in row) == (vocab.encode(text) == [*before, token]), (last, token, data)
    return judged


def test_rows_are_what_the_tokenizer_says(built) -> None:
    _, vocab = built
    canonical, tokens, rng = Canonical(vocab), vocab.text_ids.tolist(), random.Random("rows")
    lasts = [None, *rng.sample(tokens, 50), *(t for t in tokens if canonical.is_added[t])]
    lasts += [t for t in tokens if canonical.texts[t] and "'" in canonical.texts[t]][:15]
    judged = sum(assert_row(canonical, vocab, last, tokens) for last in lasts)
    assert judged > 5_000
    never = set(range(vocab.size)) - set(tokens)
    assert never.intersection(ids_of(canonical.row(tokens[0]))) == {*vocab.stop_ids, *vocab.special_ids}


EACH_BYTE = {bytes([byte]) for byte in range(256)}
SCHEMA = {
    "type": "object",
    "properties": {"the cat": {"enum": ["sat", "that's what", 12345, None]}, "naïve": {"pattern": "^[a-m é]*$"}},
    "required": ["naïve"],
    "additionalProperties": {"type": "array", "uniqueItems": True, "items": {"type": ["string", "boolean"]}},
}


@pytest.mark.parametrize(
    "grammar", [gl.Regex(r"(?:[a-m ']|1|é|\n){0,30}"), gl.JsonSchema(SCHEMA)], ids=["Regex", "JsonSchema"]
)
def test_walks_are_what_the_tokenizer_makes(built, grammar: Any) -> None:
    """Allowed is what the grammar and the row allow; nothing is allowed that an encoding of two tokens forbids."""
    _, vocab = built
    if isinstance(grammar, gl.JsonSchema) and len({vocab.token_bytes(t) for t in vocab.text_ids} & EACH_BYTE) < 200:
        with pytest.raises(gl.UnsupportedFeature, match="single bytes"):
            gl.compile(grammar, vocab, canonical_only=True)
        return
    plain, canonical = gl.compile(grammar, vocab), gl.compile(grammar, vocab, canonical_only=True)
    rows, rng, left_whole = Canonical(vocab), random.Random("walk"), 0
    for _ in range(4):
        one, other, last = plain.matcher(), canonical.matcher(), None
        for _ in range(12):
            expected = allowed_ids(one, vocab).intersection(ids_of(rows.row(last)))
            if not expected:
                expected, left_whole = allowed_ids(one, vocab), left_whole + 1
            assert allowed_ids(other, vocab) == expected
            for token in rng.sample(range(vocab.size), 20):
                assert other.validate([token]) == (token in expected)
            last = rng.choice(sorted(expected))
            assert one.advance(last)
            assert other.advance(last)
            if one.is_finished:
                break
    assert canonical.report.canonical is not None
    assert canonical.report.canonical.rows_left_whole == left_whole
    assert plain.report.canonical is None


def gpt2() -> gl.Vocabulary:
    return vocabulary(TOKENIZERS["gpt2"]())


def test_a_token_of_text_by_its_id_is_refused() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="by its id with canonical_only=True"):
        gl.compile(gl.Ebnf('root ::= "a" Token(64)'), gpt2(), canonical_only=True)


def test_only_one_way_to_write_a_text() -> None:
    vocab = gpt2()
    for text in ("the cat", "that's 12345 km", "aaaaa  ab"):
        chain, matcher = [], gl.compile(gl.Choices([text]), vocab, canonical_only=True).matcher()
        while not matcher.is_accepting:
            row = sorted(allowed_ids(matcher, vocab))
            fitting = [t for t in row if vocab.encode(text)[: len(chain) + 1] == [*chain, t]]
            assert len(fitting) == 1  # the tokenizer's own way is never forbidden
            chain += fitting
            assert matcher.advance(chain[-1])
        assert chain == vocab.encode(text)


def test_a_row_that_would_be_empty_is_left_whole() -> None:
    """A bytes pattern for the first half of a character: the halves are joined by a merge, so only the row itself is left."""
    vocab = gpt2()
    assert len(vocab.encode("é")) == 1
    first, second = (next(t for t in vocab.text_ids.tolist() if vocab.token_bytes(t) == b) for b in (b"\xc3", b"\xa9"))
    constraint = gl.compile(gl.Regex(rb"\xc3\xa9a*"), vocab, canonical_only=True)
    matcher = constraint.matcher()
    assert matcher.advance(first)
    assert allowed_ids(matcher, vocab) == {second}
    assert constraint.report.canonical is not None
    assert constraint.report.canonical.rows_left_whole == 1
    assert matcher.advance(second)
    assert matcher.is_accepting


def test_explained() -> None:
    vocab = gpt2()
    matcher = gl.compile(gl.Regex("a*"), vocab, canonical_only=True).matcher()
    one = vocab.encode("a")[0]
    assert matcher.advance(one)
    assert (
        matcher.explain(one)
        == "allowed by the grammar, but the tokenizer cuts the last token and this one in another way"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gl.Vocabulary([b"a", b"</s>"], stop_ids=[1]), "its merges are not at hand"),
        (lambda: vocabulary(with_normalizer(normalizers.Lowercase())), "normalizer Lowercase is not known"),
        (lambda: vocabulary(with_added(AddedToken("<x>", lstrip=True))), "'<x>' is matched with lstrip"),
        (lambda: vocabulary(with_dropout()), "its BPE has a dropout"),
    ],
)
def test_what_is_refused_by_name(make: Callable[[], gl.Vocabulary], message: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=message):
        gl.compile(gl.Regex("a"), make(), canonical_only=True)


def with_normalizer(normalizer: Any) -> Tokenizer:
    tokenizer = TOKENIZERS["gpt2"]()
    tokenizer.normalizer = normalizer
    return tokenizer


def with_added(token: AddedToken) -> Tokenizer:
    tokenizer = TOKENIZERS["gpt2"]()
    tokenizer.add_tokens([token])
    return tokenizer


def with_dropout() -> Tokenizer:
    tokenizer = TOKENIZERS["gpt2"]()
    tokenizer.model.dropout = 0.1
    return tokenizer


def check_real(name: str, lasts_of_each: int) -> int:
    """Rows of many last tokens, some pairs of each. Llama 2's dummy space, which every text begins with, is taken off."""
    folder = FOLDER / "tokenizers" / name
    vocab, tokenizer = gl.Vocabulary.from_tokenizer(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    if name == "llama2":
        tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    canonical, rng, judged = Canonical(vocab), random.Random(name), 0
    tokens = vocab.text_ids.tolist()
    apostrophes = [t for t in tokens if canonical.texts[t] and canonical.texts[t][-2:].count("'")]
    whole = np.flatnonzero(canonical.is_whole & canonical.is_text).tolist()
    few = lasts_of_each
    lasts = [None, *rng.sample(tokens[:3000], 2 * few), *rng.sample(tokens, 2 * few), *apostrophes[:few], *whole[:few]]
    for last in lasts:
        row = set(ids_of(canonical.row(last)))
        before = [] if last is None else [last]
        for token in rng.sample(tokens, 150) + rng.sample(tokens[:3000], 150) + apostrophes[:20] + whole[:20]:
            data = b"".join(map(vocab.token_bytes, [*before, token]))
            try:
                found = tokenizer.encode(data.decode(), add_special_tokens=False).ids
            except UnicodeDecodeError:
                continue
            judged += 1
            assert (token in row) == (found == [*before, token]), (last, token, data)
    assert judged > 1_000 * lasts_of_each
    return judged


@needs_data
@tiers("name, count", ("llama2", 2), *((name, 20) for name in NAMES))
def test_real_tokenizers(name: str, count: int, record_property) -> None:
    record_property("cases", check_real(name, count))


def test_what_patterns_name() -> None:
    assert named_in(r"\p{L}+|\s+(?!\S)|[^\r\n\p{Lu}]{1,3}") is not None
    for unknown in (r"\w+", r"[a-z]", r"\p{Han}", r"(?s:.)", r"\1", r"[[:alpha:]]", r"[\p{L}&&\p{N}]"):
        assert named_in(unknown) is None
    shapes = Shapes({"pretokenizers": [{"type": "Split", "pattern": {"Regex": LLAMA}, "behavior": "Isolated"}]})
    assert shapes.of("cat") == shapes.of("dog") == shapes.of("set")
    assert shapes.of("cat") != shapes.of("Cat")
    assert shapes.of("x's") != shapes.of("x'a")
    assert shapes.after_apostrophe("s") != shapes.after_apostrophe("a")
