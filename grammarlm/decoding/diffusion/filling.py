"""What gl.infill and gl.generate share: a plan (driver, sampler, options), and a row filled by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from grammarlm.decoding.answer_spec import Compiled
from grammarlm.decoding.output import Output
from grammarlm.decoding.result import Result, Stats
from grammarlm.errors import LimitExceeded, unknown_argument
from grammarlm.vocab.vocabulary import Vocabulary

from . import SAMPLERS
from .boards import Boards, Canvas
from .draws import Draws
from .drivers.full import full
from .free import FreeCanvas
from .holes import Holes
from .look import Rule
from .names import DRIVERS, RULES
from .run import Reader, Run
from .shrinking import ShrinkingCanvas, ShrinkingReader

INSIDE = {"freedave": "fixed"}  # the sampler inside a driver, where it is not "confidence"
Drive = Callable[[Run, Rule], None]


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
        elif sampler in RULES:
            rule, drive = SAMPLERS[sampler], full
        elif sampler in DRIVERS:
            inner = left.pop("inner", INSIDE.get(sampler, "confidence"))
            if not callable(inner) and inner not in RULES:
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
        return cls(partial(drive, **of_drive), partial(rule, **of_rule))


def names_of(function: Callable[..., Any]) -> set[str]:
    return {name for name, one in signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}


@dataclass(frozen=True)
class Filling:
    """Rows of one constraint, filled by one plan."""

    reader: Reader
    vocab: Vocabulary
    compiled: Compiled
    draws: Draws
    plan: Plan
    steps: int | None = None
    never: Sequence[int] = ()  # ids that nothing allows where there is no grammar
    ends: bool = False  # without a grammar: may a text end before the row does?
    compile_seconds: float = 0.0

    def run(self, holes: Holes) -> Run:
        """The row filled; ValueError where the constraint has no text like it."""
        length, row, reader = len(holes.row), holes.row, self.reader
        whole = self.canvas(length)
        constraint = self.compiled.constraint
        if holes.shrinking:
            whole = ShrinkingCanvas(length, holes.shrinking, self.vocab.size, self.canvas)
            reader, constraint = ShrinkingReader(reader, self.vocab.size, self.vocab.stop_ids), None
        if (constraint is not None or holes.shrinking or self.ends) and not whole.is_completable(row.tolist()):
            raise ValueError(
                f"no text of the constraint has {length} tokens with those that are given; check them and the sizes of the holes"
            )
        boards = Boards(whole, length, constraint, self.vocab.stop_ids)
        run = Run(reader, boards, row, self.vocab, self.draws, self.steps)
        if len(run.masked()):
            self.plan.drive(run, self.plan.rule)
        return run

    def canvas(self, length: int) -> Canvas:
        if self.compiled.constraint is None:
            return FreeCanvas(length, self.vocab, never=self.never, ends=self.ends)
        found: Canvas = self.compiled.constraint.canvas(length)
        return found

    def result(self, output: Output, holes: Holes) -> Result:
        """The whole row, its text, its value."""
        run = self.run(holes)
        kept = np.flatnonzero(run.row != self.vocab.size)
        tokens = [int(run.row[at]) for at in kept]
        own = self.ended(tokens)
        self.check(tokens[:own])
        text = b"".join(self.bytes_of(token) for token in tokens[:own]).decode(errors="replace")
        value, error = output.value(text, tokens[:own])
        stats = self.stats_of(run, own)
        logprobs = [run.log_p.get(int(at), 0.0) for at in kept]
        return Result(text, value, tokens, logprobs, stats, "stop" if own < len(tokens) else "closed", error=error)

    def check(self, tokens: Sequence[int]) -> None:
        """The matcher is the arbiter: a view of the canvas may follow keys, numbers and blanks only so far."""
        if self.compiled.constraint is None:
            return
        matcher = self.compiled.constraint.matcher()
        if not (all(matcher.advance(token) for token in tokens) and matcher.is_accepting):
            raise LimitExceeded(
                "the row that was filled is no text of the constraint: its canvas follows equal keys, long numbers and "
                "blanks only so far; name the keys (additionalProperties=false), or bound numbers and lengths"
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
            cache_hit=self.compiled.was_cached,
            closes=self.compiled.constraint is not None,
            compile_seconds=self.compile_seconds,
            model_seconds=sum(step.model_ms for step in run.trace) / 1000,
            mask_seconds=sum(step.canvas_ms for step in run.trace) / 1000,
            trace=run.trace,
        )
