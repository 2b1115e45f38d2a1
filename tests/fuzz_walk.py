"""One input of the fuzzer: compiled, walked in, and held to what every matcher promises; and the coverage that guides it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pathlib
import random
import sys
import time
import traceback
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

import grammarlm as gl
from grammarlm.masks.saved.sealed import seal
from tests.fuzz_inputs import Input
from tests.internals import program_of
from tests.laws.cfg_vocabularies import pieces
from tests.laws.json_laws import WALKED
from tests.laws.laws import allowed_ids
from tests.laws.vocabularies import every_byte, few_bytes
from tests.mask_bits import ids_of

PACKAGE = str(pathlib.Path(gl.__file__).parent)
EXTRA_SECONDS = 2.0  # beyond its limit, of CPU time, while every line is counted
MAX_MS = 1000
LIMITS = {
    "ordinary": gl.Limits(max_ms=MAX_MS),
    "tiny": gl.Limits(max_ms=MAX_MS, max_bytes=4_000_000, max_states=200, max_depth=5),
    "few states": gl.Limits(max_ms=MAX_MS, max_states=12),
    "little memory": gl.Limits(max_ms=MAX_MS, max_bytes=300_000),
}
SAMPLED = 30
MOST_KEPT = 20  # of earlier constraints, whose bytes are put in the place of others'
HOSTILE = [
    sign * number for number in (2**31, 2**32 + 97, 2**63, 2**64 - 1, 2**70, 10**400, 10**5000) for sign in (1, -1)
]
HOSTILE += [-1, -2]


EVERYTHING = tuple(range(16)) * 2
WARMING = [
    Input("Regex", "a[ab]{2}", drive=EVERYTHING),
    Input("Gbnf", 'root ::= "(" root? ")"', drive=EVERYTHING),
    Input("JsonSchema", "true", options=("whitespace=natural", "spelling=plain"), drive=EVERYTHING, vocabulary=3),
    Input("JsonSchema", '{"items": {"minimum": 1.5}, "uniqueItems": true}', drive=EVERYTHING),
    Input("JsonSchema", "true", (("+", "Regex", "x*"), ("|", "Text", "<>")), drive=EVERYTHING),
]
SNAPSHOT, SAVED = b"grammarlm matcher\n", b"grammarlm constraint\n"


class Broken(AssertionError):
    """An invariant does not hold."""


@functools.cache
def opened() -> set[str]:
    """Texts that no file may be opened by; an audit hook, which is never removed, sees to it."""
    texts: set[str] = set()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0] in texts:
            raise Broken("a text is opened as a file")

    sys.addaudithook(hook)
    return texts


@dataclasses.dataclass(frozen=True)
class Kept:
    """A constraint of an earlier input, as bytes."""

    fingerprint: bytes
    snapshot: bytes
    saved: bytes


class Walker:
    """Runs inputs; what is wrong is raised."""

    def __init__(self, has_schemas: bool = True) -> None:
        self.vocabularies = [*(each.vocabulary() for each in (every_byte(), pieces(), few_bytes())), WALKED]
        self.refused = self.steps = 0
        self.kept: list[Kept] = []
        for first in WARMING if has_schemas else WARMING[:2]:  # compiles what nobody has yet, which takes minutes
            with contextlib.suppress(Broken):
                self.run(first)
        self.refused = self.steps = 0

    def run(self, chosen: Input) -> None:
        opened().update(text for text in (chosen.text, *(text for _, _, text in chosen.beside)) if text)
        try:
            self._run(chosen)
        finally:
            opened().clear()

    def _run(self, chosen: Input) -> None:
        vocab, limits = self.vocabularies[chosen.vocabulary], LIMITS[chosen.limits]
        try:
            grammar = timed(chosen.grammar)
        except (TypeError, ValueError) as error:  # not even a description
            check_refusal(error)
            return
        timed(repr, grammar)
        try:
            constraint = timed(gl.compile, grammar, vocab, limits=limits)
            timed(lambda: constraint.fingerprint)
        except gl.GrammarError as error:
            self.refused += 1
            check_refusal(error)
            return
        walk = Walk(constraint, chosen.drive, self.kept)
        try:
            for number in chosen.drive:
                walk.step(number)
                self.steps += 1
        except gl.LimitExceeded:
            walk.check_closed()
        if walk.latest is not None:
            self.kept = [*self.kept, walk.latest][-MOST_KEPT:]


def check_refusal(error: Exception) -> None:
    """A refusal is an error that was raised on purpose, and says what it says in few characters."""
    if len(str(error)) > 500:
        raise Broken("a message of more than 500 characters") from error
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    if innermost.filename.startswith(PACKAGE) and not (innermost.line or "").startswith("raise"):
        raise error


class Walk:
    """A matcher, a shadow of it that reads the same bytes one by one, and the masks seen on the way."""

    def __init__(self, constraint: gl.Constraint, drive: tuple[int, ...], kept: Sequence[Kept] = ()):
        self.constraint, self.vocab = constraint, constraint.vocab
        self.kept, self.latest = kept, None
        self.rng = random.Random(str(drive))
        self.matcher, self.shadow = constraint.matcher(), constraint.matcher()
        # A token that is asked for by its id is not what its bytes are.
        named = getattr(program_of(self.matcher), "named_texts", ())
        self.reads_bytes = constraint.report.tokens_spell_all and not named
        self.path: list[int] = []
        self.masks: list[set[int]] = []  # before each step of the path

    def step(self, number: int) -> None:
        allowed = self.look()
        texts = sorted(allowed - set(self.vocab.stop_ids))
        what, argument = number % 16, number >> 4
        if what == 0:
            self.roll_back(argument % (len(self.path) + 1))
        elif what == 1:
            self.matcher = self.matcher.fork()
        elif what == 2:
            self.restore()
        elif what == 3:
            self.bytes_again(argument)
        elif what == 4:
            self.budget()
        elif what == 5:
            self.forced()
        elif what == 6:
            self.check(
                self.matcher.validate([argument % (self.vocab.size + 3)])
                == (argument % (self.vocab.size + 3) in allowed and not self.matcher.is_finished),
                "validate is not the mask",
            )
            self.matcher.explain(argument % self.vocab.size)
        elif what == 7 and self.matcher.is_accepting and not self.matcher.is_finished:
            self.read(min(allowed & set(self.vocab.stop_ids)))
        elif what == 8:
            self.hostile(argument)
        elif texts:
            self.read(texts[argument % len(texts)])
        else:
            self.roll_back(len(self.path))

    def look(self) -> set[int]:
        """The mask, held to what a mask is."""
        allowed = timed(allowed_ids, self.matcher, self.vocab)
        self.check(bool(allowed), "an empty mask")
        stops = set(self.vocab.stop_ids)
        self.check(self.matcher.is_accepting == bool(allowed & stops), "stop ids iff is_accepting")
        if self.matcher.is_finished:
            return allowed
        for token in self.rng.sample(range(self.vocab.size), SAMPLED) + self.rng.sample(
            sorted(allowed), min(5, len(allowed))
        ):
            accepted = timed(self.matcher.fork().advance, token)
            self.check(accepted == (token in allowed), f"advance says {accepted}, the mask {token in allowed}")
        self.check(
            timed(allowed_ids, self.shadow, self.vocab) == allowed,
            "a mask after bytes differs from that after tokens",
        )
        return allowed

    def read(self, token: int) -> None:
        before = allowed_ids(self.matcher, self.vocab)
        self.check(timed(self.matcher.advance, token), "a token of the mask is refused")
        self.masks.append(before)
        self.path.append(token)
        self.follow(token)

    def follow(self, token: int) -> None:
        if token in self.vocab.stop_ids or token in self.vocab.special_ids:
            self.check(self.shadow.advance(token), "the shadow refuses a stop id")
            return
        for byte in self.vocab.token_bytes(token):
            if self.reads_bytes:
                self.check(timed(self.shadow.advance_bytes, bytes([byte])), "the bytes of an allowed token are refused")
        if not self.reads_bytes:
            self.shadow.advance(token)

    def roll_back(self, count: int) -> None:
        if not count:
            return
        self.matcher.rollback(count)
        expected = self.masks[-count]
        del self.path[-count:], self.masks[-count:]
        self.check(allowed_ids(self.matcher, self.vocab) == expected, "rollback shows another mask than before")
        self.shadow = self.constraint.matcher()
        for token in self.path:
            self.follow(token)

    def restore(self) -> None:
        snapshot = self.matcher.snapshot()
        restored = self.constraint.restore(snapshot)
        self.check(
            allowed_ids(restored, self.vocab) == allowed_ids(self.matcher, self.vocab), "a restored mask differs"
        )
        self.damaged(SNAPSHOT, snapshot, self.constraint.restore)
        try:
            saved = timed(self.constraint.to_bytes)
        except gl.LimitExceeded:
            raise
        except gl.GrammarError:  # a schema with a value in it, of no effect, that no JSON text has
            return
        again = gl.Constraint.from_bytes(saved, self.vocab).restore(snapshot)
        self.check(allowed_ids(again, self.vocab) == allowed_ids(self.matcher, self.vocab), "a reloaded mask differs")
        self.damaged(SAVED, saved, lambda data: gl.Constraint.from_bytes(data, self.vocab))
        self.swapped(snapshot, saved)
        self.latest = Kept(self.constraint.fingerprint, snapshot, saved)

    def damaged(self, magic: bytes, data: bytes, call: Any) -> None:
        """With a few bits turned and the checksum of that, bytes are read or refused; with a wrong checksum, or cut, refused."""
        content = bytearray(data[len(magic) + 1 : -16])
        for _ in range(self.rng.randint(1, 3)):
            content[self.rng.randrange(len(content))] ^= 1 << self.rng.randrange(8)
        self.refusing(call, seal(magic, data[len(magic)], bytes(content)))
        for wrong in (
            data[: self.rng.randrange(len(data))],
            data[: len(magic) + 1] + bytes(content) + data[-16:],
            data + b"\0",
        ):
            self.check(wrong == data or self.refusing(call, wrong) is None, "damaged bytes are read")

    def swapped(self, snapshot: bytes, saved: bytes) -> None:
        """What was kept of another constraint is none of this one; half of it, sealed anew, is read or refused."""
        if not self.kept:
            return
        other = self.rng.choice(self.kept)
        if other.fingerprint != self.constraint.fingerprint:
            self.check(self.refusing(self.constraint.restore, other.snapshot) is None, "a snapshot of another is read")
        loaded = self.refusing(lambda data: gl.Constraint.from_bytes(data, self.vocab), other.saved)
        self.check(loaded is None or loaded.fingerprint == other.fingerprint, "another constraint is loaded")
        for magic, mine, theirs, call in (
            (SNAPSHOT, snapshot, other.snapshot, self.constraint.restore),
            (SAVED, saved, other.saved, lambda data: gl.Constraint.from_bytes(data, self.vocab)),
        ):
            cut = self.rng.randrange(len(magic) + 1, len(mine) - 16)
            self.refusing(call, seal(magic, mine[len(magic)], mine[len(magic) + 1 : cut] + theirs[cut:-16]))

    def refusing(self, call: Any, data: bytes) -> Any:
        """What comes of forged bytes; None where they are refused with a GrammarError."""
        try:
            return timed(call, data)
        except gl.GrammarError:
            return None

    def hostile(self, argument: int) -> None:
        """Integers beyond all tokens and steps are refused, and change nothing."""
        before, number = allowed_ids(self.matcher, self.vocab), HOSTILE[argument % len(HOSTILE)]
        self.check(self.matcher.advance(number) is False, "a hostile integer is a token")
        self.check(self.matcher.validate([number, 1]) == 0, "a hostile integer is validated")
        self.check(len(self.matcher.explain(number)) <= 500, "a long explanation")
        try:
            self.matcher.rollback(number)
        except ValueError as error:
            check_refusal(error)
        else:
            raise Broken("a hostile integer is rolled back")
        self.check(allowed_ids(self.matcher, self.vocab) == before, "a hostile integer changed the mask")

    def bytes_again(self, argument: int) -> None:
        """Bytes that are refused change nothing; those of the path so far lead to the same mask."""
        before = allowed_ids(self.matcher, self.vocab)
        data = bytes([argument & 0xFF, argument >> 4 & 0xFF])
        fork = self.matcher.fork()
        if not timed(fork.advance_bytes, data):
            self.check(allowed_ids(fork, self.vocab) == before, "refused bytes changed the mask")

    def budget(self) -> None:
        """From where the matcher stands an end is reached within the tokens that it says it needs."""
        if self.matcher.is_finished:
            return
        try:
            left = timed(lambda: self.matcher.min_tokens_left)
        except gl.UnsupportedFeature:  # schemas beside others have none
            return
        fewest = max(len(self.path) + left, self.constraint.matcher().min_tokens_left)
        if fewest - len(self.path) > 40:
            return
        budgeted = self.constraint.matcher(max_tokens=fewest + 2)
        if not all(timed(budgeted.advance, token) for token in self.path):
            return  # on the way here more was needed
        for _ in range(fewest + 3 - len(self.path)):
            texts = sorted(timed(allowed_ids, budgeted, self.vocab) - set(self.vocab.stop_ids))
            if not texts:
                break
            self.check(timed(budgeted.advance, self.rng.choice(texts)), "a token of a budgeted mask is refused")
        self.check(budgeted.is_accepting and not texts, "a budget is not kept")

    def forced(self) -> None:
        before = allowed_ids(self.matcher, self.vocab)
        tokens = timed(self.matcher.forced_tokens, 8)
        fork = self.matcher.fork()
        for token in tokens:
            self.check(allowed_ids(fork, self.vocab) == {token}, "a forced token is not the only one")
            fork.advance(token)
        text = timed(self.matcher.forced_bytes, 16)
        self.check(self.matcher.is_finished or self.matcher.fork().advance_bytes(text), "forced bytes are refused")
        self.check(allowed_ids(self.matcher, self.vocab) == before, "forced_tokens changed the mask")

    def check_closed(self) -> None:
        """After LimitExceeded: either the mask is there, or the row holds the stop ids alone and the steps are what they were."""
        mask = gl.allocate_mask(1, self.vocab.size)
        try:
            timed(self.matcher.fill_mask, mask)
        except gl.LimitExceeded:
            bits = ids_of(mask[0])
            self.check(set(bits) == set(self.vocab.stop_ids), "after LimitExceeded the row holds the stop ids alone")

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            raise Broken(what)


def timed(call: Any, *arguments: Any, **named: Any) -> Any:
    """The call; `Broken` where it took longer than its limit and a little more."""
    before = time.process_time()
    try:
        return call(*arguments, **named)
    finally:
        spent = time.process_time() - before
        if spent > MAX_MS / 1e3 + EXTRA_SECONDS:
            raise Broken(f"slow: {getattr(call, '__name__', call)} beyond its limit") from None


def signature(error: BaseException) -> str:
    """What tells one finding from another: the kind of error, and the innermost line of grammarlm."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)]
    place = f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].name}:{frames[-1].lineno}" if frames else ""
    return (
        f"{type(error).__name__}: {str(error)[:200]}"
        if isinstance(error, Broken)
        else f"{type(error).__name__} at {place}"
    )


class Coverage:
    """Which edges between two lines of grammarlm have ever been taken, and whether the latest input took a new one."""

    def __init__(self) -> None:
        self.edges: set[int] = set()
        self.before = 0

    @property
    def count(self) -> int:
        return len(self.edges)

    def is_new(self) -> bool:
        return len(self.edges) > self.before

    def __enter__(self) -> None:
        self.before = len(self.edges)
        sys.settrace(self.called)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(None)

    def called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        file, edges, last = hash(code) << 24, self.edges, 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                here = frame.f_lineno
                edges.add(file ^ last << 12 ^ here)
                last = here
            return line

        return line
