"""Random texts of the library's grammars, and what small damage leaves of them, before the languages' own parsers.

A text that the grammar takes must be one for the language: the grammars are subsets. Damage (a piece less, a piece from elsewhere)
makes the texts that nobody thought of, two words that run into each other or operators that make a third; what lark still takes
of them must be known to the language as well.
"""

from collections.abc import Callable

import pytest

from grammarlm.grammars import library
from tests.counts import tiers
from tests.grammars.library.library_sentences import damaged, sentences
from tests.oracles.languages import KNOWS
from tests.oracles.random_sentences import Sentences

JUDGED = [name for name in library.names() if name in KNOWS]
# A C compiler reads b*c where neither is declared as it sees fit, and html.parser takes what HTML does not.
DAMAGED = [name for name in JUDGED if name not in {"c", "html"}]


@pytest.mark.parametrize("name", library.names())
def test_every_derivation_is_read_back(name: str) -> None:
    source = sentences(name, 1)
    assert len({source.text() for _ in range(60)}) > 30


@pytest.mark.parametrize("name", JUDGED)
def test_the_language_knows_generated_texts(name: str) -> None:
    source = sentences(name, 2)
    for _ in range(60):
        text = source.text()
        assert KNOWS[name](text), text


@pytest.mark.parametrize("name", DAMAGED)
@tiers("seed, count, tries", (3, 40, 2000), (5, 400, 30_000))
def test_the_language_knows_damaged_texts(name: str, seed: int, count: int, tries: int, record_property) -> None:
    survivors = known_after_damage(sentences(name, seed), name, good_texts=count, tries=tries)
    assert survivors >= 20
    record_property("cases", survivors)


def known_after_damage(source: Sentences, name: str, good_texts: int, tries: int) -> int:
    """How many damaged texts lark took; each of them is known to the language."""
    texts = [source.text(source.rng.choice((0, 10, 30))) for _ in range(good_texts)]
    texts = [text for text in texts if len(text) < 400]
    survivors = 0
    for _, text in zip(range(tries), damaged(source, texts), strict=False):
        if source.is_read(text):
            survivors += 1
            assert KNOWS[name](text), text
    return survivors


@pytest.mark.proof
@pytest.mark.parametrize("name", library.names())
def test_many_texts_meet_every_rule(name: str, record_property: Callable[[str, object], None]) -> None:
    source = sentences(name, 4)
    knows = KNOWS.get(name, lambda text: True)
    count = 3000
    for _ in range(count):
        text = source.text()
        assert knows(text), text
    assert all(source.taken[rule] for rule in source.parser.rules)
    record_property("cases", count)
