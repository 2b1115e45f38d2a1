"""What gl.infill and gl.generate share: a plan (driver, sampler, options), and a row filled by it."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grammarlm.decoding.answers.answer_format import AnswerFormat
from grammarlm.decoding.answers.parts import answer_of
from grammarlm.decoding.answers.turns import tools_of
from grammarlm.decoding.result import Result, Stats
from grammarlm.decoding.systems import DRIVERS, RULES
from grammarlm.errors import LimitExceeded, brief, unknown_argument
from grammarlm.masks.constraint import Constraint
from grammarlm.vocab.vocabulary import Vocabulary

from . import SAMPLERS
from .boards import Boards, Canvas
from .draws import Draws
from .free import FreeCanvas
from .holes import MASKED, Holes
from .look import Rule
from .options import checked_options, names_of
from .run import Asking, Run
from .samplers import full
from .several import canvas_of
from .shrinking import ShrinkingReader, shrinking_canvas
from .together import RowReader, fill_together

INSIDE = {"freedave": "fixed"}  # the sampler inside a driver, where it is not "confidence"
Drive = Callable[[Run, Rule], Asking[None]]
Job = tuple[RowReader, Run, Asking[None]]


@dataclass(frozen=True)
class Plan:
    """A driver and a sampler with their options."""

    drive: Drive
    rule: Rule

    @classmethod
    def of(
        cls,
        sampler: str | Callable[..., Any],
        block: int | None,
        options: Mapping[str, Any],
    ) -> Plan:
        """`block` goes to what has such an option: the sampler, or the driver around it."""
        left = dict(options) if block is None else {**options, "block": block}
        if callable(sampler):
            rule, drive = sampler, full
        elif isinstance(sampler, str) and sampler in RULES:
            rule, drive = SAMPLERS[sampler], full
        elif isinstance(sampler, str) and sampler in DRIVERS:
            inner = left.pop("inner", INSIDE.get(sampler, "confidence"))
            if not callable(inner) and not (isinstance(inner, str) and inner in RULES):
                raise ValueError(f"inner={inner!r:.60}; it takes one of {', '.join(RULES)}")
            rule, drive = inner if callable(inner) else SAMPLERS[inner], SAMPLERS[sampler]
        else:
            raise ValueError(
                f"sampler={sampler!r:.60}; it takes one of {', '.join(SAMPLERS)}, or a function from a Look to a Choice"
            )
        own, around = names_of(rule), names_of(drive)
        for name in left:
            if name not in own | around:
                raise unknown_argument("infill", name, own | around)
        # A driver's own option comes first: blocks of "blocks" are the driver's; those of "adablock" inside "full" the sampler's.
        of_drive = {
            name: value for name, value in left.items() if name in around and not (drive is full and name in own)
        }
        of_rule = {name: value for name, value in left.items() if name in own and name not in of_drive}
        if any(rule is SAMPLERS[name] for name in RULES):  # one of the caller's own may take anything
            of_rule = checked_options(rule, of_rule)
        return cls(partial(drive, **checked_options(drive, of_drive)), partial(rule, **of_rule))


OTHERWISE = re.compile(rb"\\[/u]|[0-9][eE]")  # needless escapes, exponents
SPELLED = "; JSON is given as json.dumps(..., ensure_ascii=False) spells it: a for \\u0061, 100.0 for 1e2"


def why_none(canvas: Canvas, row: np.ndarray, vocab: Vocabulary) -> str:
    """Which of the tokens given is the first that leaves no text, whatever stands in the holes: found by bisection, for the more is
    given, the less is left."""
    given = np.flatnonzero(row >= 0)
    length = f"no text of the constraint has {len(row)} tokens"

    def is_left(count: int) -> bool:
        first = np.full_like(row, MASKED)
        first[given[:count]] = row[given[:count]]
        return canvas.is_completable(first.tolist())

    try:
        if not is_left(0):
            return f"{length}; check the sizes of the holes"
        first = bisect_left(range(1, len(given)), True, key=lambda count: not is_left(count))
    except LimitExceeded:  # this canvas does not decide it
        return f"{length} with those that are given; check them and the sizes of the holes"
    at = int(given[first])
    parts = [vocab.token_bytes(int(token)) if token >= 0 else b"_" for token in row[max(0, at - 12) : at]]
    text, found = b"".join(parts)[-40:], vocab.token_bytes(int(row[at]))
    behind = f" behind {brief(text, 60)}" if parts else ""
    following = b"".join(vocab.token_bytes(int(token)) if token >= 0 else b"_" for token in row[at + 1 : at + 3])
    spelled = SPELLED if OTHERWISE.search(text + found + following) else ""
    return (
        f"{length} with those that are given: none is left with {brief(found)} at position {at}{behind}; "
        f"check what is given and the sizes of the holes{spelled}"
    )


class MaskedRows(threading.local):
    """The canvases of the latest rows without known ids, one of each of the latest constraints.

    They keep their constraints, and a weak key that its own value keeps is kept for ever: hence a number of them.
    """

    MOST = 4

    def __init__(self) -> None:
        self._of: OrderedDict[Constraint, tuple[int, Canvas]] = OrderedDict()

    def get(self, constraint: Constraint, length: int) -> Canvas | None:
        known, canvas = self._of.get(constraint, (0, None))
        return canvas if known == length else None

    def keep(self, constraint: Constraint, length: int, canvas: Canvas) -> None:
        self._of[constraint] = length, canvas
        self._of.move_to_end(constraint)
        if len(self._of) > self.MOST:
            self._of.popitem(last=False)


MASKED_ROWS = MaskedRows()  # by thread: canvases of one constraint are filled in by one thread each


@dataclass(frozen=True)
class Filling:
    """Rows of one constraint, filled by one plan."""

    reader: RowReader
    vocab: Vocabulary
    constraint: Constraint | None
    draws: Draws
    plan: Plan
    steps: int | None = None
    never: Sequence[int] = ()  # ids that nothing allows where there is no grammar
    ends: bool = False  # without a grammar: may a text end before the row does?
    was_cached: bool = False
    compile_seconds: float = 0.0

    def run(self, holes: Holes) -> Run:
        """The row filled; ValueError where the constraint has no text like it."""
        job = self.job(holes)
        fill_together([job])
        return job[1]

    def job(self, holes: Holes) -> Job:
        """The row before the model is asked, and what fills it."""
        length, row, reader = len(holes.row), holes.row, self.reader
        whole = self.canvas(length) if holes.shrinking or (row >= 0).any() else self.masked_canvas(length)
        constraint = self.constraint
        if holes.shrinking:
            whole = shrinking_canvas(length, holes.shrinking, self.vocab.size, self.canvas)
            reader, constraint = ShrinkingReader(reader, self.vocab.size, self.vocab.stop_ids), None
        if (constraint is not None or holes.shrinking or self.ends) and not whole.is_completable(row.tolist()):
            raise ValueError(why_none(whole, row, self.vocab))
        boards = Boards(whole, length, constraint, self.vocab.stop_ids)
        run = Run(boards, row, self.vocab, self.draws, self.steps)
        return reader, run, self.plan.drive(run, self.plan.rule)

    def canvas(self, length: int) -> Canvas:
        if self.constraint is None:
            return FreeCanvas(length, self.vocab, never=self.never, ends=self.ends)
        return canvas_of(self.constraint, length)

    def masked_canvas(self, length: int) -> Canvas:
        """As `canvas`, for a row without known ids: its passes depend only on the length, so they are kept."""
        constraint = self.constraint
        if constraint is None:
            return self.canvas(length)
        kept = MASKED_ROWS.get(constraint, length)
        if kept is None:
            kept = canvas_of(constraint, length)
            kept.is_completable([MASKED] * length)
        MASKED_ROWS.keep(constraint, length, kept)
        return copy(kept)  # canvases replace the passes of their last row, and never change them

    def result(self, form: AnswerFormat, run: Run) -> Result:
        """Of a row that is filled: the whole row, its text, its value."""
        kept = np.flatnonzero(run.row != self.vocab.size)
        tokens = [int(run.row[at]) for at in kept]
        own = self.ended(tokens)
        self.check(tokens[:own])
        pieces = [self.bytes_of(token) for token in tokens[:own]]
        ways = None if self.constraint is None or tools_of(form.grammar) else self.constraint.ways
        found = answer_of(form, ways, self.vocab, tokens[:own], pieces, is_complete=True)
        stats = self.stats_of(run, own)
        logprobs = [run.log_p.get(int(at), 0.0) for at in kept]
        reason = "stop" if own < len(tokens) else "closed"
        return Result(
            b"".join(pieces).decode(errors="replace"),
            found.value,
            tokens,
            logprobs,
            stats,
            reason,
            error=found.error,
            parts=found.parts,
            named=found.named,
            turn=found.turn,
        )

    def check(self, tokens: Sequence[int]) -> None:
        """The matcher is the arbiter: a view of the canvas may follow equal keys only so far."""
        if self.constraint is None:
            return
        matcher = self.constraint.matcher()
        if not (all(matcher.advance(token) for token in tokens) and matcher.is_accepting):
            raise LimitExceeded(
                "the row that was filled is no text of the constraint: its canvas follows equal keys only so far; name the keys "
                "(additionalProperties=false)"
            )

    def ended(self, tokens: Sequence[int]) -> int:
        """How many tokens the text has."""
        return next((at for at, token in enumerate(tokens) if token in self.vocab.stop_ids), len(tokens))

    def bytes_of(self, token: int) -> bytes:
        return b"" if token in self.vocab.special_ids else self.vocab.token_bytes(token)

    def stats_of(self, run: Run, tokens: int) -> Stats:
        return Stats(
            forwards=sum(step.model_calls for step in run.trace),
            tokens=tokens,
            seed=None if self.draws.is_greedy else self.draws.sampling.seed,
            cache_hit=self.was_cached,
            closes=self.constraint is not None,
            compile_seconds=self.compile_seconds,
            model_seconds=sum(step.model_ms for step in run.trace) / 1000,
            mask_seconds=sum(step.canvas_ms for step in run.trace) / 1000,
            trace=run.trace,
        )
