"""Random structural tags beside xgrammar, and beside an oracle that shares no code with either.

What is known to differ. xgrammar takes, and we and the oracle refuse:

    a trigger that contains another             the first that is complete counts here; xgrammar reads on to the longer one
    triggered tags or a dispatch that come as   xgrammar now and then takes a trigger that begins no tag for text
    an alternative, or not at all

We and the oracle take, and xgrammar refuses:

    entries with other keys                     in XML styles its keys that are not declared are identifiers

Formats of tokens are not among them: of some of those xgrammar's process dies (test_tags_of_tokens.py).
"""

import collections
import json
import random
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.models.tiny import FOLDER as EMBEDDED
from tests.counts import record_counts, tiers
from tests.oracles.random_structural_tags import GRAMMARS, RandomTags
from tests.oracles.structural_tag import Oracle
from tests.texts import accepts

xgrammar = pytest.importorskip("xgrammar")

TEXTS, LEAST = 20, 0.97
VOCAB = gl.Vocabulary.from_tokenizer(EMBEDDED)
PATTERNS = {grammar: pattern for grammar, (pattern, _) in GRAMMARS.items()}


def peer(vocab: gl.Vocabulary) -> Any:
    tokens = [vocab.token_bytes(token) for token in range(vocab.size)]
    stops = list(vocab.stop_ids)
    info = xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=vocab.size, stop_token_ids=stops)
    return xgrammar.GrammarCompiler(info, max_threads=1)


def theirs(compiler: Any, tag: dict[str, Any]) -> Any:
    if "structures" not in tag:
        return compiler.compile_structural_tag(json.dumps(tag))
    items = [xgrammar.StructuralTagItem(**{**each, "schema": json.dumps(each["schema"])}) for each in tag["structures"]]
    return compiler.compile_structural_tag(xgrammar.StructuralTag.from_legacy_structural_tag(items, tag["triggers"]))


def they_accept(compiled: Any, text: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiled)
    return (not text or bool(matcher.accept_string(text))) and bool(matcher.is_completed())


@tiers("seed, count, has_json", (0, 60, True), (1, 2_000, True), (2, 4_000, False))
def test_random_tags(seed: int, count: int, has_json: bool, record_property: Any) -> None:
    compiler, outcomes = peer(VOCAB), collections.Counter[str]()
    for number in range(count):
        tags = RandomTags(random.Random(1_000_000 * seed + number), has_json)
        tag = tags.tag()
        compiled = theirs(compiler, tag)
        constraint = gl.compile(gl.StructuralTag(tag, whitespace="natural"), VOCAB)
        oracle = Oracle(tag, patterns=PATTERNS)
        for text in tags.texts(tag, TEXTS):
            here, there, told = accepts(constraint, text), they_accept(compiled, text), oracle.accepts(text)
            assert told or not here, (tag, text)
            assert here or not (there and told), (tag, text)
            outcomes[f"{'accepted' if here else 'refused'}, {'agreed' if here == there else 'not agreed'}"] += 1
    record_counts(record_property, outcomes, cases="accepted, agreed")
    assert outcomes["accepted, agreed"] > outcomes.total() / 6
    assert outcomes["refused, agreed"] > outcomes.total() / 6
    assert outcomes["accepted, not agreed"] + outcomes["refused, not agreed"] <= (1 - LEAST) * outcomes.total()
