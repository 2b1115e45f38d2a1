"""canonical_only=True where the texts are few: exactly the tokenizer's own encoding of each, by walking every mask."""

import json
import random
import re
from collections.abc import Callable

import pytest

import grammarlm as gl
from grammarlm.masks.filters import closed
from grammarlm.masks.matcher import Matcher
from tests.laws.laws import allowed_ids
from tests.real_data import FOLDER, needs_data

tokenizers = pytest.importorskip("tokenizers")
from tests.masks.filters.canonical_tokenizers import TOKENIZERS, trained, vocabulary  # noqa: E402

CHARACTERS = [*"aaabcst'  .12-_!\n(", "é", "你", "th", "the ", "cat", "'s"]
NOTATIONS: dict[str, Callable[[list[str]], gl.Regex]] = {
    "Choices": gl.Choices,
    "Regex": lambda texts: gl.Regex("|".join(map(re.escape, texts))),
    "Lark": lambda texts: gl.Lark("start: " + "|".join(map(json.dumps, texts))),
    "Gbnf": lambda texts: gl.Gbnf("root ::= " + "|".join(json.dumps(t, ensure_ascii=False) for t in texts)),
    "JsonSchema": lambda texts: gl.JsonSchema({"enum": texts}, whitespace="compact", spelling="plain"),
    "parts": lambda texts: "ab" + gl.JsonSchema({"enum": texts}, whitespace="compact", spelling="plain"),
}


def written(notation: str, text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return {"JsonSchema": quoted, "parts": "ab" + quoted}.get(notation, text)


def admitted(constraint: gl.Constraint) -> set[tuple[int, ...]]:
    """Every sequence of tokens that a matcher's masks admit, a stop id after it."""
    found, vocab = set(), constraint.vocab
    waiting: list[tuple[tuple[int, ...], Matcher]] = [((), constraint.matcher())]
    while waiting:
        tokens, matcher = waiting.pop()
        allowed = allowed_ids(matcher, vocab)
        assert allowed
        assert matcher.is_accepting == (not allowed.isdisjoint(vocab.stop_ids))
        for token in allowed:
            after = matcher.fork()
            assert after.advance(token)
            if token in vocab.stop_ids:
                found.add(tokens)
            else:
                waiting.append(((*tokens, token), after))
    return found


def random_texts(rng: random.Random, most: int) -> list[str]:
    texts = {"".join(rng.choices(CHARACTERS, k=rng.randint(1, 9))) for _ in range(rng.randint(1, most))}
    return sorted(
        {text + rng.choice(["", text[-1]]) for text in texts} | set(rng.sample(sorted(texts), len(texts) // 2))
    )


@pytest.fixture(scope="module", params=["gpt2", "llama3", "composed"])
def vocab(request) -> gl.Vocabulary:
    return vocabulary(TOKENIZERS[request.param]())


@pytest.mark.parametrize("notation", NOTATIONS)
def test_exactly_the_encodings(vocab: gl.Vocabulary, notation: str) -> None:
    rng = random.Random(f"closed {notation}")
    for most in (2, 8, 50):
        texts = random_texts(rng, most)
        if notation == "Lark":  # its lexer prefers the longest
            texts = [t for t in texts if t.strip()]
        constraint = gl.compile(NOTATIONS[notation](texts), vocab, canonical_only=True)
        assert admitted(constraint) == {tuple(vocab.encode(written(notation, text))) for text in texts}
        assert constraint.report.canonical is not None
        assert constraint.report.canonical.texts == len(texts)
        assert constraint.report.canonical.rows_left_whole == 0


def test_spaces_that_are_marked() -> None:
    vocab, rng = vocabulary(TOKENIZERS["spaces marked"]()), random.Random("spaces marked")
    texts = ["".join(rng.choices("at  hes", k=rng.randint(1, 12))) for _ in range(40)]
    constraint = gl.compile(gl.Choices(sorted(set(texts))), vocab, canonical_only=True)
    assert admitted(constraint) == {tuple(vocab.encode(text)) for text in texts}


@pytest.mark.proof
def test_exactly_the_encodings_many_times(vocab: gl.Vocabulary, record_property: Callable) -> None:
    rng = random.Random("closed, many")
    for _ in range(300):
        texts = random_texts(rng, 50)
        constraint = gl.compile(gl.Choices(texts), vocab, canonical_only=True)
        assert admitted(constraint) == {tuple(vocab.encode(text)) for text in texts}
    record_property("cases", 300)


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("name", ["gpt2", "qwen3", "llama3_1"])
def test_real_tokenizers(name: str) -> None:
    vocab, rng = gl.Vocabulary.from_tokenizer(FOLDER / "tokenizers" / name), random.Random(name)
    sets = [["order", "event"], *(random_texts(rng, 50) for _ in range(30))]
    for texts in sets:
        for notation in ("Choices", "Regex", "JsonSchema"):
            constraint = gl.compile(NOTATIONS[notation](texts), vocab, canonical_only=True)
            assert admitted(constraint) == {tuple(vocab.encode(written(notation, text))) for text in texts}


def test_a_beginning_that_the_tokenizer_would_write_otherwise_does_not_end_there() -> None:
    """ignore_merges: the whole word is one token, though its merges make two, with which a longer word begins."""
    tokenizer = trained(TOKENIZERS["llama3"]().pre_tokenizer, ignore_merges=True)
    parsed = json.loads(tokenizer.to_str())
    ids = parsed["model"]["vocab"]
    ids["xq"] = len(ids)  # no merge makes it
    parsed["model"]["vocab"] = ids
    vocab = vocabulary(type(tokenizer).from_str(json.dumps(parsed)))
    one, longer = vocab.encode("xq"), vocab.encode("xqz")
    assert (len(one), len(longer)) == (1, 3)
    constraint = gl.compile(gl.Choices(["xq", "xqz"]), vocab, canonical_only=True)
    assert admitted(constraint) == {tuple(one), tuple(longer)}
    matcher = constraint.matcher()
    assert matcher.validate([*longer[:2], vocab.stop_ids[0]]) == 2


def test_a_text_that_the_tokenizer_never_writes_keeps_one_tokenization() -> None:
    vocab = vocabulary(TOKENIZERS["composed"]())
    apart = "cafe\N{COMBINING ACUTE ACCENT}"
    found = admitted(gl.compile(gl.Choices([apart, "the cat"]), vocab, canonical_only=True))
    spelled = {b"".join(map(vocab.token_bytes, tokens)) for tokens in found}
    assert spelled == {apart.encode(), b"the cat"}
    assert len(found) == 2
    found = admitted(gl.compile(gl.Regex(rb"\xff\xfe|aa"), vocabulary(TOKENIZERS["gpt2"]()), canonical_only=True))
    assert len(found) == 2


def test_special_tokens_between_texts() -> None:
    """A text begins after each: what stands before and after it is encoded separately."""
    tokenizer = TOKENIZERS["composed"]()
    tokenizer.add_special_tokens(["<sep>"])
    vocab = vocabulary(tokenizer)
    separator = tokenizer.token_to_id("<sep>")
    constraint = gl.compile(gl.Gbnf('root ::= ("the " | "the cat") <sep> "cat"'), vocab, canonical_only=True)
    expected = {(*vocab.encode(text), separator, *vocab.encode("cat")) for text in ("the ", "the cat")}
    assert admitted(constraint) == expected


@pytest.mark.parametrize(
    "grammar",
    [
        gl.Regex("[ab]*"),
        gl.Regex("[a-e]{6}"),
        gl.Lark('start: "a" | "(" start ")"'),
        gl.Lark('start: "a" | start "," "a"'),
        gl.JsonSchema({"enum": ["order", "event"]}),  # white space may stand around it
        gl.JsonSchema({"type": "string", "maxLength": 3}),
    ],
    ids=repr,
)
def test_many_texts_are_left_to_pairs_of_tokens(grammar: gl.Regex, monkeypatch: pytest.MonkeyPatch) -> None:
    states = 0

    def counted(*args):
        nonlocal states
        states += 1
        return next_states(*args)

    next_states = closed.next_states
    monkeypatch.setattr(closed, "next_states", counted)
    constraint = gl.compile(grammar, vocabulary(TOKENIZERS["gpt2"]()), canonical_only=True)
    assert constraint.report.canonical is not None
    assert constraint.report.canonical.texts is None
    assert states <= 2 * closed.MOST_TEXTS


def test_the_texts_of_a_constraint(vocab: gl.Vocabulary) -> None:
    assert gl.compile(gl.Regex("b|a{1,2}"), vocab).texts() == [b"a", b"aa", b"b"]
    for pattern, said in {
        "a*": "endless",
        "[a-z]{3}": "more than 4,096",
        "[ab]{11}c{600}": "more than 262,144 bytes",
    }.items():
        with pytest.raises(gl.UnsupportedFeature, match=f"its texts .*{said}"):
            gl.compile(gl.Regex(pattern), vocab).texts()
