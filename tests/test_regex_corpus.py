"""Every case of corpus/regex.toml through `re` (or `regex`, for Unicode properties), the oracle and the engine."""

import random
import re
import sys
from typing import Any

import pytest
import regex

import grammarlm as gl
from tests.corpus_files import corpus
from tests.laws.laws import allowed_ids, assert_walk_equals_oracle
from tests.laws.vocabularies import every_byte
from tests.oracles.regex_oracle import Oracle, TooManyStates, python_flags

CASES = corpus("regex")
LANGUAGES = [case for case in CASES if "error" not in case]
ERRORS = [case for case in CASES if "error" in case]
# Python's own parser, which the oracle stands on, knows no Unicode properties.
READABLE = [case for case in LANGUAGES if not re.search(r"\\[pP]", case["pattern"])]
TOKENS = every_byte()
VOCAB = TOKENS.vocabulary()

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [case["name"] for case in cases]


def in_python(case: dict[str, Any]) -> str:
    """The pattern, or what says the same in Python's spelling."""
    return case.get("python", case["pattern"])


def data_of(case: dict[str, Any], key: str) -> list[bytes]:
    return [text.encode() for text in case.get(key, [])] + [bytes.fromhex(text) for text in case.get(key + "_hex", [])]


def python_knows(case: dict[str, Any]) -> bool:
    return sys.version_info >= tuple(map(int, case.get("since", "3.10").split(".")))


def check_with_judge(case: dict[str, Any]) -> None:
    """The verdicts of `re` on texts; where it cannot read the pattern, those of `regex`."""
    pattern = in_python(case)
    compiled = re.compile(pattern, python_flags(pattern)) if case in READABLE else regex.compile(pattern)
    for text in case.get("accepts", []):
        assert compiled.fullmatch(text), text
    for text in case.get("rejects", []) + case.get("prefixes", []) + case.get("dead", []):
        assert not compiled.fullmatch(text), text


def test_names_are_unique() -> None:
    assert len(set(names(CASES))) == len(CASES)


@pytest.mark.parametrize("case", LANGUAGES, ids=names(LANGUAGES))
def test_the_corpus_is_right(case: dict[str, Any]) -> None:
    check_with_judge(case)
    if case not in READABLE:
        return
    oracle = Oracle(in_python(case))
    for data in data_of(case, "accepts"):
        assert oracle.matches(data), data
    for data in data_of(case, "rejects"):
        assert not oracle.matches(data), data
    if case["name"] != "a large count":
        for data in data_of(case, "prefixes"):
            assert oracle.completable_bytes(oracle.read(oracle.start, data)), data
        for data in data_of(case, "dead"):
            assert not oracle.completable_bytes(oracle.read(oracle.start, data)), data


@pytest.mark.parametrize("case", LANGUAGES, ids=names(LANGUAGES))
def test_the_engine_agrees_with_the_corpus(case: dict[str, Any]) -> None:
    constraint = gl.compile(gl.Regex(case["pattern"]), VOCAB)
    expected: dict[str, set[tuple[bool, bool | None]]]
    expected = {"accepts": {(True, True)}, "prefixes": {(True, False)}, "dead": {(False, None)}}
    expected["rejects"] = expected["prefixes"] | expected["dead"]
    for key, verdicts in expected.items():
        for data in data_of(case, key):
            matcher = constraint.matcher()
            start = allowed_ids(matcher, VOCAB)
            read = matcher.advance_bytes(data)
            assert (read, matcher.is_accepting if read else None) in verdicts, (key, data)
            assert read or allowed_ids(matcher, VOCAB) == start, "refused bytes changed the state"
            one_by_one = constraint.matcher()
            assert all(one_by_one.advance(byte) for byte in data) is read, (key, data)


@pytest.mark.parametrize("case", READABLE, ids=names(READABLE))
def test_masks_equal_the_oracle(case: dict[str, Any]) -> None:
    try:
        token_oracle = TOKENS.token_oracle(Oracle(in_python(case)), most_states=150)
        token_oracle.completable(token_oracle.start)
    except TooManyStates:
        pytest.skip("too many states for the oracle")
    matcher = gl.compile(gl.Regex(case["pattern"]), VOCAB).matcher()
    assert_walk_equals_oracle(matcher, token_oracle, VOCAB, random.Random(case["name"]), 8)


def python_position(pattern: str) -> int | None:
    """Where `re` finds fault with a pattern, if it does."""
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        return error.pos
    except ValueError:
        pass
    return None


@pytest.mark.parametrize("case", ERRORS, ids=names(ERRORS))
def test_errors_say_what_and_where(case: dict[str, Any]) -> None:
    with pytest.raises(getattr(gl, case["error"])) as caught:
        gl.compile(gl.Regex(case["pattern"]), VOCAB)
    message = str(caught.value)
    assert type(caught.value) is getattr(gl, case["error"])
    assert len(message) <= 500
    assert case.get("contains", "") in message
    if case["error"] == "UnsatisfiableGrammar":
        return
    position = caught.value.position
    assert position is not None
    if "position" in case:
        assert position == case["position"], message
    elif python_knows(case) and (expected := python_position(case["pattern"])) is not None:
        assert position == expected, message
    assert_caret(message, case["pattern"], position)


def assert_caret(message: str, pattern: str, position: int) -> None:
    """Line and column are named, and a caret stands under the character at fault."""
    line_number = pattern.count("\n", 0, position) + 1
    column = position - (pattern.rfind("\n", 0, position) + 1)
    assert f"line {line_number}, column {column + 1}" in message
    shown, pointer = message.split("\n")[-2:]
    line = pattern.split("\n")[line_number - 1]
    assert pointer.strip() == "^"
    assert shown[: len(pointer) - 1] == line[:column]
    assert shown == line


@pytest.mark.parametrize("case", ERRORS, ids=names(ERRORS))
def test_what_re_calls_broken_is_no_surprise(case: dict[str, Any]) -> None:
    """A plain GrammarError is one for `re` as well, but for what only text in UTF-8 rules out."""
    if case["error"] == "GrammarError" and python_knows(case) and "surrogate" not in case.get("contains", ""):
        with pytest.raises((re.error, ValueError)):
            re.compile(case["pattern"])
