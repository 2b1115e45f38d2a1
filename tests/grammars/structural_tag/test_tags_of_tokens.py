"""Random structural tags of tokens, over sequences of tokens, beside the oracle: each token is one letter there."""

import collections
import json
import random
from typing import Any

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.oracles.structural_tag import Oracle

BYTES = [bytes([byte]) for byte in range(256)]
SPECIAL = (256, 257, 258)
TEXT = (97, 98, 259)  # a, b, ab
OTHER = 99  # c, which no other token has a letter of
VOCAB = gl.Vocabulary([*BYTES, b"<|call|>", b"<|done|>", b"<|x|>", b"ab", b"</s>"], [260], SPECIAL)
NAMES = {token: f"<{token}>" for token in (*SPECIAL, *TEXT, OTHER)}


def named(given: Any) -> Any:
    """The tag with names in place of ids, and of the only constant."""
    if isinstance(given, dict):
        return {
            name: each if name in ("min", "max", "max_tokens", "loop") else named(each) for name, each in given.items()
        }
    if isinstance(given, list):
        return [named(each) for each in given]
    if isinstance(given, int) and not isinstance(given, bool):
        return NAMES[given]
    return NAMES[OTHER] if given == "c" else given


class RandomTokenTags:
    """Formats that are about tokens, and sequences of tokens."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def token(self) -> int:
        return self.rng.choice([*SPECIAL, *TEXT])

    def some(self) -> list[int]:
        return [self.token() for _ in range(self.rng.randint(0, 2))]

    def marker(self) -> dict[str, Any]:
        return {"type": "token", "token": self.token()}

    def format(self, depth: int) -> dict[str, Any]:
        kinds = ["token", "exclude_token", "any_tokens", "const_string"]
        kinds += ["sequence", "or", "repeat", "tag", "tags", "dispatch"] * (2 if depth else 0)
        kind, below = self.rng.choice(kinds), depth - 1
        if kind == "token":
            return self.marker()
        if kind == "const_string":
            return {"type": kind, "value": self.rng.choice(["c", "c", ""])}
        if kind in ("exclude_token", "any_tokens"):
            most = {"max_tokens": self.rng.randint(0, 3)} if kind == "any_tokens" and self.rng.random() < 0.5 else {}
            return {"type": kind, "exclude_tokens": self.some(), **most}
        if kind in ("sequence", "or"):
            return {"type": kind, "elements": [self.format(below) for _ in range(self.rng.randint(1, 3))]}
        if kind == "repeat":
            least = self.rng.randint(0, 1)
            return {"type": kind, "min": least, "max": self.rng.choice([-1, least + 1]), "content": self.format(below)}
        if kind == "tag":
            return self.tag(below, self.token())
        if kind == "dispatch":
            rules = [[token, self.format(below)] for token in {self.token() for _ in range(2)} - {256}]
            return {"type": "token_dispatch", "rules": rules or [[97, self.format(0)]], "loop": self.rng.random() < 0.5,
                    "exclude_tokens": self.some()}  # fmt: skip
        triggers = [self.rng.choice([256, 257, 258]), 97][: self.rng.randint(1, 2)]
        flags = {name: self.rng.random() < 0.5 for name in ("at_least_one", "stop_after_first")}
        tags = [self.tag(below, trigger) for trigger in triggers]
        return {
            "type": "token_triggered_tags",
            "trigger_tokens": triggers,
            "tags": tags,
            "exclude_tokens": self.some(),
            **flags,
        }

    def tag(self, depth: int, begin: int) -> dict[str, Any]:
        return {
            "type": "tag",
            "begin": {"type": "token", "token": begin},
            "content": self.format(depth),
            "end": self.marker(),
        }

    def walk(self, constraint: gl.Constraint) -> list[int]:
        """Tokens of which most are allowed."""
        matcher, tokens = constraint.matcher(), list[int]()
        mask = gl.allocate_mask(1, constraint.vocab.size)
        for _ in range(self.rng.randint(0, 7)):
            token = self.rng.choice([*NAMES])
            if self.rng.random() < 0.85:
                matcher.fill_mask(mask)
                allowed = [t for t in NAMES if mask[0, t // 32] >> (t % 32) & 1]
                token = self.rng.choice(allowed or [token])
            tokens.append(token)
            if not matcher.advance(token):
                break
        return tokens


@tiers("seed, count", (0, 100), (1, 3_000))
def test_random_tags_of_tokens(seed: int, count: int, record_property: Any) -> None:
    outcomes = collections.Counter[str]()
    for number in range(count):
        tags = RandomTokenTags(random.Random(1_000_000 * seed + number))
        tag = {"type": "structural_tag", "format": tags.format(2)}
        try:
            constraint = gl.compile(gl.StructuralTag(tag), VOCAB)
        except gl.GrammarError as error:
            if "is among the tokens that are excluded" not in str(error):
                raise
            outcomes["no tag"] += 1
            continue
        oracle = Oracle(named(tag), tuple(NAMES.values()))
        for _ in range(15):
            tokens, matcher = tags.walk(constraint), constraint.matcher()
            here = all(map(matcher.advance, tokens)) and matcher.is_accepting
            assert here == oracle.accepts("".join(NAMES[token] for token in tokens)), (json.dumps(tag), tokens)
            outcomes["accepted" if here else "refused"] += 1
    record_counts(record_property, outcomes, cases="accepted")
    assert min(outcomes["accepted"], outcomes["refused"]) > outcomes.total() / 6
    assert outcomes["no tag"] < count / 3
