"""A terminal that spells a plain string has the continuations that Python's parser leads to."""

import random
import re

import pytest

from grammarlm.grammars.regular import ordered
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.ordered import CHAR, Pattern

CHARACTERS = "ab_ \"'\\|()[]{}*+?.^$-#&~/\n\té€\U0001f600\x00:<>=!%`1"


def pattern(regex: str) -> Pattern:
    return Pattern(regex, 0, Algebra(), lambda: None, "X")


def described(found: Pattern) -> tuple[object, ...]:
    characters, rest = [], found.start
    while rest.kind == CHAR:
        characters.append(rest.data)
        rest = rest.then
    return characters, rest.kind, rest.looks_back, {*map(repr, found.characters())}, found.is_large


def test_plain_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, plain = random.Random("plain"), []
    for _ in range(1500):
        text = "".join(rng.choices(CHARACTERS, k=rng.randint(1, 4)))
        plain += [regex for regex in (text, re.escape(text)) if ordered.PLAIN.fullmatch(regex)]
    assert len(plain) > 1000
    found = [described(pattern(regex)) for regex in plain]
    monkeypatch.setattr(ordered, "PLAIN", re.compile("(?!)"))
    assert found == [described(pattern(regex)) for regex in plain]
