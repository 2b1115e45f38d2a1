"""snapshot and restore: the same masks, the same steps before it, whatever process; damage is a GrammarError."""

import random
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.saved import sealed
from tests.counts import tiers
from tests.internals import SNAPSHOT_MAGIC, SNAPSHOT_VERSION
from tests.laws import vocabularies
from tests.laws.laws import allowed_ids
from tests.laws.promises import wander
from tests.masks.saved.damaged_files import check_damage, damaged

VOCABULARIES = {name: make() for name, make in vocabularies.ALL.items()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}
GRAMMARS = {
    "a regex": gl.Regex(r"(?:ab|b1)*_?a{3,90}"),
    "everything": gl.Regex(r"(?s).*"),
}


def test_another_process_restores_it() -> None:
    code = """
import sys
import grammarlm as gl
vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b"."], stop_ids=[256])
matcher = gl.compile(gl.Regex("(?:ab)+c|x"), vocab).restore(sys.stdin.buffer.read())
print(matcher.min_tokens_left, matcher.explain(120), matcher.forced_bytes().decode())
"""
    vocab = gl.Vocabulary([bytes([i]) for i in range(256)] + [b"."], stop_ids=[256])
    matcher = gl.compile(gl.Regex("(?:ab)+c|x"), vocab).matcher(max_tokens=5)
    assert matcher.advance_bytes(b"ab")
    assert matcher.advance(ord("a"))
    child = subprocess.run([sys.executable, "-c", code], input=matcher.snapshot(), capture_output=True, check=True)
    assert child.stdout.decode() == "2 it is 'x'; expected 'b' bc\n"


def test_other_grammars_and_vocabularies_are_refused() -> None:
    matcher = gl.compile(GRAMMARS["a regex"], COMPILED["every byte"]).matcher()
    for grammar, name in (("everything", "every byte"), ("a regex", "merged pairs")):
        with pytest.raises(gl.GrammarError, match="another grammar or another vocabulary"):
            gl.compile(GRAMMARS[grammar], COMPILED[name]).restore(matcher.snapshot())


CONSTRAINT = gl.compile(GRAMMARS["a regex"], COMPILED["every byte"])


def taken(budget: int | None = None) -> bytes:
    matcher = CONSTRAINT.matcher(budget)
    return wander(matcher, COMPILED["every byte"], 12, random.Random(f"taken {budget}")).snapshot()


def check_forgeries(count: int) -> int:
    """A right checksum around damaged content: an error, or a matcher whose steps were all accepted."""
    rng, sound, loaded = random.Random(count), [taken(), taken(40)], 0
    head = len(SNAPSHOT_MAGIC) + 1
    for _ in range(count):
        content = rng.choice(sound)[head:-16]
        kept = content.index(b",") if rng.random() < 0.9 else 0
        content = content[:kept] + damaged(content[kept:], rng)
        try:
            matcher = CONSTRAINT.restore(sealed.seal(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, content))
        except gl.GrammarError:
            continue
        loaded += 1
        again = CONSTRAINT.restore(matcher.snapshot())
        assert allowed_ids(again, COMPILED["every byte"]) == allowed_ids(matcher, COMPILED["every byte"])
    return loaded


@tiers("count", 5_000, 100_000)
def test_damage_is_noticed(count: int) -> None:
    check_damage([taken(), taken(40)], CONSTRAINT.restore, count)


@tiers("count, least", (2_000, 10), (100_000, 500))
def test_forgeries_are_harmless(count: int, least: int, record_property: Callable[[str, object], None]) -> None:
    loaded = check_forgeries(count)
    assert loaded >= least
    record_property("loaded", loaded)


def forged(budget: object, *steps: object) -> bytes:
    content = [CONSTRAINT.fingerprint.hex(), budget, [*steps]]
    return sealed.seal(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, sealed.as_json(content))


STOP = COMPILED["every byte"].stop_ids[0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (forged(None, ord("x")), "a step is not accepted"),
        (forged(None, 10**30), "a step is not accepted"),
        (forged(None, None), "takes a token id"),
        (forged(None, True), "takes a token id"),
        (forged(None, "eA=="), "a step is not accepted"),
        (forged(None, "e"), "padding|encoded"),
        (forged(0), "max_tokens=0 may not be enough"),
        (forged("many"), "takes a number of tokens"),
        (forged(None, sealed.bytes_as_text(b"aaa"), STOP, sealed.bytes_as_text(b"")), "a step is not accepted"),
        (sealed.seal(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, b"[1, null]"), "no fingerprint, budget and steps"),
        (sealed.seal(SNAPSHOT_MAGIC, SNAPSHOT_VERSION, b"{"), "cannot be read"),
        (sealed.seal(SNAPSHOT_MAGIC, 1, b""), "version 1; this grammarlm reads version 2"),
        (b"", "this is no snapshot"),
    ],
)
def test_forged_snapshots(data: bytes, problem: str) -> None:
    with pytest.raises(gl.GrammarError, match=problem):
        CONSTRAINT.restore(data)


def test_a_snapshot_is_bytes() -> None:
    with pytest.raises(TypeError, match="snapshot is bytes, not str"):
        CONSTRAINT.restore("snapshot")
    assert CONSTRAINT.restore(bytearray(taken())).snapshot() == taken()


def test_steps_may_be_numpy_integers_and_buffers() -> None:
    matcher = CONSTRAINT.matcher()
    data = bytearray(b"ab")
    assert matcher.advance(np.int64(97))
    assert matcher.advance_bytes(memoryview(b"b"))
    assert matcher.advance_bytes(data)
    data[:] = b"xx"
    assert CONSTRAINT.restore(matcher.snapshot()).snapshot() == matcher.snapshot()
