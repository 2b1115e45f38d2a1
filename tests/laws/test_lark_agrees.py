"""Lark grammars mean what stock lark takes them to mean: every text is accepted by both or by neither.

Half of the texts are derivations of the grammar; the others are derivations with a few characters changed, and now and then
characters at random. Of each text that lark accepts, every beginning can be read as well.
"""

import random
from collections import Counter
from typing import Any

import pytest
from lark.exceptions import LarkError

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.lark_examples import HAND_WRITTEN
from tests.oracles.lark_oracle import LarkOracle, Sentences
from tests.oracles.random_lark import RandomLark
from tests.texts import BYTES

_MOST_REFUSED = 0.02
_TEXTS_OF_A_GRAMMAR = 25


def changed(text: str, alphabet: str, rng: random.Random) -> str:
    """The text with a character less, more, doubled or another; now and then two such changes."""
    for _ in range(rng.choice([1, 1, 2])):
        place = rng.randint(0, len(text))
        middle = rng.choice(["", rng.choice(alphabet), text[place : place + 1] * 2, rng.choice(alphabet)])
        text = text[:place] + middle + text[place + rng.choice([0, 1, 1]) :]
    return text


def draw_texts(sentences: Sentences, alphabet: str, rng: random.Random, count: int) -> list[tuple[str, str]]:
    """(kind, text) of so many texts, half of them derived, as far as the grammar has texts."""
    drawn = []
    for place in range(count):
        derived = sentences.sentence(rng, rng.choice([4, 8, 16]))
        if derived is None or (place % 2 and rng.random() < 0.2):
            drawn.append(("at random", "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 6)))))
        elif place % 2:
            drawn.append(("mutated", changed(derived, alphabet, rng)))
        else:
            drawn.append(("derived", derived))
    return drawn


def check_text(matcher: Any, oracle: LarkOracle, text: str, rng: random.Random) -> bool:
    """Whether lark accepts the text; the matcher must say the same, whole and in two pieces."""
    data, expected = text.encode(), oracle.accepts(text)
    taken = matcher.advance_bytes(data)
    accepted = taken and matcher.is_accepting
    matcher.reset()
    assert accepted is expected, f"{text!r}: lark ({oracle.route}) says {expected}"
    if expected:
        cut = rng.randint(0, len(data))
        assert matcher.advance_bytes(data[:cut]) is True, f"{text!r}, its first {cut} bytes"
        assert matcher.advance_bytes(data[cut:]) is True, f"{text!r}, cut after {cut} bytes"
        assert matcher.is_accepting, f"{text!r}, cut after {cut} bytes"
        matcher.reset()
    return expected


def check_grammar(text: str, alphabet: str, oracle: LarkOracle, rng: random.Random, count: int) -> Counter[str]:
    """Texts of one grammar, by outcome; `refused` counts grammars."""
    texts = draw_texts(Sentences(oracle, alphabet), alphabet, rng, count)
    try:
        matcher = gl.compile(gl.Lark(text), BYTES).matcher()
    except gl.UnsatisfiableGrammar:
        assert not any(oracle.accepts(each) for _, each in texts), f"lark accepts some text of {text}"
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded) as refusal:
        return Counter({"refused": 1, f"refused: {type(refusal).__name__}": 1})
    outcomes: Counter[str] = Counter(compiled=1)
    for kind, each in texts:
        try:
            outcomes["accepted" if check_text(matcher, oracle, each, rng) else "rejected"] += 1
            outcomes[kind] += 1
        except gl.LimitExceeded:
            matcher.reset()
            outcomes["over a limit"] += 1
        except AssertionError as broken:
            raise AssertionError(f"{broken}\n{text}") from broken
    return outcomes


def check_random_grammars(seed: str, wanted: int) -> Counter[str]:
    """As many random grammars as it takes to try `wanted` texts; `cases` counts the texts."""
    rng, drawn, outcomes = random.Random(f"agrees {seed}"), RandomLark(seed), Counter[str]()
    while outcomes["cases"] < wanted:
        grammar, oracle = drawn.readable()
        found = check_grammar(grammar.text, grammar.alphabet, oracle, rng, _TEXTS_OF_A_GRAMMAR)
        outcomes += found + Counter({"grammars": 1, oracle.route: 1, "cases": found["accepted"] + found["rejected"]})
    assert outcomes["refused"] <= max(1, _MOST_REFUSED * outcomes["grammars"]), outcomes
    assert outcomes["over a limit"] <= _MOST_REFUSED * wanted, outcomes
    assert outcomes["accepted"] > wanted / 5, outcomes
    assert outcomes["rejected"] > wanted / 5, outcomes
    assert min(outcomes["lalr"], outcomes["earley"]) > outcomes["grammars"] / 10, outcomes
    return outcomes


def check_hand_written(name: str, count: int) -> Counter[str]:
    text, alphabet = HAND_WRITTEN[name]
    outcomes = check_grammar(text, alphabet, LarkOracle(text), random.Random(f"hand {name}"), count)
    assert outcomes["compiled"], (name, outcomes)
    assert outcomes["accepted"], (name, outcomes)
    assert not outcomes["over a limit"], (name, outcomes)
    return outcomes + Counter(cases=outcomes["accepted"] + outcomes["rejected"])


@tiers("seed, count", ("few", 400), *((f"many {part}", 2500) for part in range(4)))
def test_random_grammars_agree_with_lark(seed: str, count: int, record_property) -> None:
    record_counts(record_property, check_random_grammars(seed, count))


@pytest.mark.parametrize("name", HAND_WRITTEN)
@tiers("count", 15, 150)
def test_hand_written_grammars_agree_with_lark(name: str, count: int, record_property) -> None:
    record_counts(record_property, check_hand_written(name, count))


@pytest.mark.parametrize(
    "text",
    [
        "start: missing",
        "start: A\nA: /a*/",
        "start: A\nA: /(/",
        "start: (",
        "nothing: /a/",
        "start: A\nA: B\nB: A",
        'start: ["a"] "b" | "b"\nstart: "c"',
    ],
)
def test_what_lark_refuses_is_refused(text: str) -> None:
    with pytest.raises(LarkError):
        LarkOracle(text)
    with pytest.raises(gl.GrammarError):
        gl.compile(gl.Lark(text), BYTES)
