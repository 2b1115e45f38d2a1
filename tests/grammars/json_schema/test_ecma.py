"""Patterns: ECMA-262 searches against hand-made verdicts and against Python's `re`."""

import json
import random
import re

import pytest
import regex

from grammarlm.errors import GrammarError, UnsupportedFeature
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.corpus_files import tables
from tests.real_data import MASKBENCH, needs_data

PATTERNS = tables("json_schema")["patterns"]


def language(pattern):
    return frozenset({("pattern", pattern, True)})


def found(pattern, text):
    return Languages().has(language(pattern), text)


@pytest.mark.parametrize(("pattern", "accepted", "rejected"), PATTERNS["searched"])
def test_found(pattern, accepted, rejected):
    languages = Languages()
    assert [s for s in accepted if not languages.has(language(pattern), s)] == []
    assert [s for s in rejected if languages.has(language(pattern), s)] == []


@pytest.mark.parametrize(("pattern", "reason"), PATTERNS["refused"])
def test_refused_by_name(pattern, reason):
    with pytest.raises(UnsupportedFeature, match=reason) as caught:
        found(pattern, "")
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize("pattern", PATTERNS["broken"])
def test_broken(pattern):
    with pytest.raises(GrammarError) as caught:
        found(pattern, "")
    assert type(caught.value) is GrammarError
    assert repr(pattern) in str(caught.value)


def expression(rng, depth):
    """A pattern in our syntax and in Python's."""
    kind = rng.randrange(12 if depth else 5)
    if kind < 3:
        return (rng.choice("aab0-"),) * 2
    if kind == 3:
        return rng.choice(
            [("[ab]", "[ab]"), ("[^a]", "[^a]"), (r"\d", r"\d"), (r"\w", r"\w"), (".", "[^\\n\\r\u2028\u2029]")]
        )
    if kind == 4:
        return rng.choice(
            [
                ("^", "^"),
                ("$", r"\Z"),
                (r"\b", r"\b"),
                ("", ""),
                ("a", "a"),
                ("(?<=a)", "(?<=a)"),
                ("(?<![0b])", "(?<![0b])"),
            ]
        )
    if kind < 8:
        parts = [expression(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
        return "".join(p for p, _ in parts), "".join(q for _, q in parts)
    if kind == 8:
        parts = [expression(rng, depth - 1) for _ in range(2)]
        return "(" + "|".join(p for p, _ in parts) + ")", "(" + "|".join(q for _, q in parts) + ")"
    ours, theirs = expression(rng, depth - 1)
    if kind == 9:
        look = rng.choice(["(?=", "(?!"])
        return f"{look}{ours})", f"{look}{theirs})"
    repeat = rng.choice(["*", "+", "?", "{2}", "{1,2}", "{0,1}"])
    return f"(?:{ours}){repeat}", f"(?:{theirs}){repeat}"


ALPHABET = ["a", "b", "0", "-", "\n", "é", " "]


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_re(seed):
    rng = random.Random(seed)
    texts = ["".join(rng.choices(ALPHABET, k=rng.randrange(7))) for _ in range(60)]
    compared = 0
    for _ in range(60):
        ours, theirs = expression(rng, 3)
        languages = Languages()
        try:
            languages.term(language(ours))
        except UnsupportedFeature:
            continue
        reference = re.compile(theirs, re.ASCII)
        for text in texts:
            assert languages.has(language(ours), text) == bool(reference.search(text)), (ours, text)
            assert languages.has(frozenset({("pattern", ours, False)}), text) != bool(reference.search(text)), (
                ours,
                text,
            )
        compared += 1
    assert compared > 40


@pytest.mark.parametrize("seed", range(4))
def test_whether_a_pattern_is_empty(seed):
    """A pattern that no short text satisfies, as `re` says, and whose answer is "not empty", has a longer one: we show it."""
    rng = random.Random(100 + seed)
    for _ in range(40):
        ours, theirs = expression(rng, 3)
        languages = Languages()
        try:
            is_empty = languages.is_empty(language(ours))
        except UnsupportedFeature:
            continue
        reference = re.compile(theirs, re.ASCII)
        if is_empty:
            assert not any(reference.search("".join(rng.choices(ALPHABET, k=rng.randrange(7)))) for _ in range(300)), (
                ours
            )
        else:
            assert reference.search(shortest(languages, languages.term(language(ours)))), ours


def every_string(value):
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, dict):
            yield from here
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def every_pattern(schema):
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if isinstance(here.get("pattern"), str):
                yield here["pattern"]
            if isinstance(here.get("patternProperties"), dict):
                yield from here["patternProperties"]
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def in_python(pattern):
    """\\s, `.` and `$` as ECMA-262 has them."""
    spaces = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
    outside = {r"\s": f"[{spaces}]", r"\S": f"[^{spaces}]", ".": r"[^\n\r\u2028\u2029]", "$": r"\Z", r"\/": "/"}
    inside = {r"\s": spaces, r"\/": "/", "[": r"\["}
    found, in_class = [], False
    for piece in re.findall(r"\\.|\[\^?|.", pattern, re.DOTALL):
        if in_class:
            found.append(inside.get(piece[0], piece[0]) + piece[1:] if piece[0] == "[" else inside.get(piece, piece))
            in_class = piece != "]"
        else:
            found.append(outside.get(piece, piece))
            in_class = piece[0] == "["
    return "".join(found)


@needs_data
def test_real_patterns():
    rng = random.Random(1)
    refused, compared = [], 0
    for path in sorted(MASKBENCH.glob("*.json"))[::6]:
        text = path.read_text()
        if '"pattern' not in text:
            continue
        case = json.loads(text)
        texts = sorted({s for test in case["tests"] for s in every_string(test["data"]) if len(s) < 100})
        languages = Languages()
        for pattern in {*every_pattern(case["schema"])}:
            try:
                languages.term(language(pattern))
                reference = regex.compile(in_python(pattern), regex.ASCII | regex.V0)
            except (UnsupportedFeature, regex.error):
                refused.append(pattern)
                continue
            for found in rng.sample(texts, min(len(texts), 12)):
                try:
                    expected = bool(reference.search(found, timeout=0.2))
                except TimeoutError:
                    break
                assert languages.has(language(pattern), found) == expected, (path.name, pattern, found)
                compared += 1
    assert len(refused) < 5
    assert compared > 1000


def shortest(languages, term):
    """A shortest text of the language, found breadth first."""
    seen, level = {term}, [(term, b"")]
    while True:
        for here, text in level:
            if here.nullable:
                return text.decode()
        level = [
            (target, text + bytes([(bits & -bits).bit_length() - 1]))
            for here, text in level
            for bits, target in languages.algebra.edges(here)
            if target not in seen and not seen.add(target)
        ]
