"""Masks of choices equal those of the set of byte strings, up to sets of a hundred thousand."""

import random
from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammarlm as gl
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.oracles.automata import Texts

VOCABULARIES = {name: make() for name, make in vocabularies.ALL.items()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}

SETS = {
    "one": ["ab"],
    "prefixes of each other": ["a", "ab", "ab1", "ab1 ab1", "b", "ba"],
    "duplicates": ["ab", "ab", "ba", "ab"],
    "nothing at all": [""],
    "nothing or something": ["", "a", "aa"],
    "unicode": ["é", "été", "€1", "😀", "😀😂", "naïve", "e\u0301", "\U0010ffff", "\x00"],
    "bytes shared inside a character": ["é", "è", "ê", "€", "₭", "😀", "😁"],
    "characters of a regex": ["a.b", "a*", "[ab]", "(", "\\d", "^$", "a|b", "\n", " \n "],
    "common endings": [f"{left}{middle}Z" for left in "ab1" for middle in ("", "b", "1é")],
}


def check_set(texts: list[str], name: str, steps: int) -> None:
    vocab, token_list = COMPILED[name], VOCABULARIES[name]
    token_oracle = token_list.token_oracle(Texts(text.encode() for text in texts))
    if not token_oracle.completable(token_oracle.start):
        with pytest.raises(gl.UnsatisfiableGrammar):
            gl.compile(gl.Choices(texts), vocab)
        return
    matcher = gl.compile(gl.Choices(texts), vocab).matcher()
    assert_walk_equals_oracle(matcher, token_oracle, vocab, random.Random(f"{texts} {name}"), steps)


@pytest.mark.parametrize("texts", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", VOCABULARIES)
def test_sets_of_texts(name: str, texts: list[str]) -> None:
    check_set(texts, name, 30)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(
    texts=st.lists(st.text(st.sampled_from("ab1 é€😀"), max_size=5), min_size=1, max_size=12),
    name=st.sampled_from(sorted(VOCABULARIES)),
)
def test_any_set_of_texts(texts: list[str], name: str) -> None:
    check_set(texts, name, 12)


@pytest.mark.proof
@settings(max_examples=2000, derandomize=True, deadline=None, database=None)
@given(
    texts=st.lists(st.text(max_size=6), min_size=1, max_size=30),
    name=st.sampled_from(sorted(VOCABULARIES)),
)
def test_many_sets_of_texts(texts: list[str], name: str) -> None:
    check_set(texts, name, 20)


def test_a_hundred_thousand_texts() -> None:
    """Too many to enumerate: a token is allowed iff a text of the sorted list starts with what it would make."""
    rng = random.Random("many")
    pieces = ["ab", "the ", "é", "1", "_", "cat", "€", "\n", "-b"]
    texts = {"".join(rng.choice(pieces) for _ in range(rng.randint(1, 12))) for _ in range(120_000)}
    ordered = sorted(text.encode() for text in texts)[:100_000]
    chosen = set(ordered)
    token_list, vocab = VOCABULARIES["every byte"], COMPILED["every byte"]
    never = {*token_list.stop_ids, *token_list.special_ids}
    usable = {token: data for token, data in enumerate(token_list.tokens) if data and token not in never}

    def is_beginning(data: bytes) -> bool:
        place = bisect_left(ordered, data)
        return place < len(ordered) and ordered[place].startswith(data)

    matcher = gl.compile(gl.Choices([text.decode() for text in ordered]), vocab).matcher()
    for _ in range(8):
        matcher.reset()
        data = b""
        while True:
            expected = {token for token, piece in usable.items() if is_beginning(data + piece)}
            expected |= set(token_list.stop_ids) if data in chosen else set()
            assert allowed_ids(matcher, vocab) == expected, data
            token = rng.choice(sorted(expected))
            assert matcher.advance(token) is True
            if token in token_list.stop_ids:
                break
            data += token_list.tokens[token]
        assert data in chosen
        assert matcher.is_finished


def test_no_choice_is_unsatisfiable() -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.Choices([]), COMPILED["every byte"])


def test_a_choice_that_is_no_text_is_refused() -> None:
    with pytest.raises(gl.GrammarError):
        gl.compile(gl.Choices(["a", "\ud800"]), COMPILED["every byte"])


def test_choices_compare_by_content() -> None:
    assert gl.Choices(["a", "b"]) == gl.Choices(("a", "b"))
    assert hash(gl.Choices(["a", "b"])) == hash(gl.Choices(["a", "b"]))
    assert gl.Choices(["a", "b"]) != gl.Choices(["a", "c"])
    assert gl.Regex("a") == gl.Regex("a") != gl.Regex("b")
