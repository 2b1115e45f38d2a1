"""Which bytes may come next in short texts of a Lark grammar, found by trying all texts up to a length with stock lark."""

import itertools
from functools import cache

import grammarlm as gl
from tests.laws.laws import allowed_ids
from tests.masks.machines.stack.stack_examples import TABLES
from tests.oracles.lark_oracle import LarkOracle
from tests.texts import BYTES

STOP = 256

# Beginnings of 7 characters, less so many as complete any viable one at most, are judged.
GRAMMARS = {case["name"]: (case["grammar"], case["alphabet"], case["needed"]) for case in TABLES["alive"]}
LONGEST = 7


@cache
def beginnings(text: str, alphabet: str, longest: int = LONGEST) -> tuple[frozenset[str], frozenset[str]]:
    """All texts up to that length that lark accepts, and all their beginnings: every string is tried."""
    oracle = LarkOracle(text)
    strings = ("".join(s) for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n))
    accepted = (
        frozenset(filter(oracle.accepts, strings))
        if len(alphabet) <= 4
        else frozenset(oracle.enumerate_language(alphabet, longest))
    )
    return accepted, frozenset(t[:end] for t in accepted for end in range(len(t) + 1))


def allowed(matcher: gl.Matcher) -> set[int]:
    return allowed_ids(matcher, BYTES)


def masks_allow_the_viable_bytes(
    constraint: gl.Constraint, text: str, alphabet: str, needed: int, longest: int
) -> None:
    accepted, viable = beginnings(text, alphabet, longest)
    matcher, tried = constraint.matcher(), 0
    for beginning in sorted(viable, key=len):
        if len(beginning) + 1 + needed > longest:
            break
        assert matcher.advance_bytes(beginning.encode()) is True, beginning
        following = allowed(matcher)
        expected = {ord(character) for character in alphabet if beginning + character in viable}
        assert {t for t in following if t != STOP and chr(t) in alphabet} == expected, beginning
        assert (STOP in following) is (beginning in accepted), beginning
        assert following, beginning
        matcher.reset()
        tried += 1
    assert tried > 1
