"""One row being filled: what it asks of the model, looks, joint commits, the trace. Drivers say what is read, and when.

A driver is a generator: it yields rows [rows, seen] and gets their logits [rows, seen, V]. So whoever runs it may read the rows of
several texts in one call (together.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from grammarlm.decoding.trace import TraceStep
from grammarlm.masks.canvas.protocol import Undecided
from grammarlm.masks.mask_array import as_integer
from grammarlm.vocab.vocabulary import Vocabulary

from .boards import Board, Boards
from .draws import Draws
from .look import Allowed, Choice, Logits, Look, Rule

MOST_REFUSED = (
    8  # ids at one position, before the best that completes the row is looked for in the completions themselves
)
IMPOSSIBLE = -1e6  # stands for -inf in scores of whole rows, so that they can be added up
T = TypeVar("T")
Asking = Generator[np.ndarray, Sequence[Logits], T]  # yields rows with masks, is sent their logits


@dataclass(frozen=True, eq=False)
class State:
    """A row on its way, and what its next step depends on besides the logits."""

    row: np.ndarray
    step: int = 0  # of the schedule
    memory: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepPlan:
    """Positions `first` to `end` in so many steps."""

    first: int
    end: int
    steps: int

    def share(self, row: np.ndarray, step: int) -> int:
        """What is left, divided by the steps that are left."""
        left = int((row[self.first : self.end] < 0).sum())
        return -(-left // max(1, self.steps - step))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step would do: the state after it, and what is said of it."""

    state: State
    committed: list[int]
    tokens: list[int]
    rejected: list[int]
    log_p: dict[int, float]
    notes: dict[str, Any]


class Run:
    """The row, its boards and its trace."""

    def __init__(
        self,
        boards: Boards,
        row: np.ndarray,
        vocab: Vocabulary,
        draws: Draws,
        steps: int | None = None,
    ):
        self.boards, self.vocab, self.draws = boards, vocab, draws
        self.state = State(row)
        self.steps = int((row < 0).sum()) if steps is None else steps
        self.trace: list[TraceStep] = []
        self.log_p: dict[int, float] = {}
        self._calls, self._model_seconds, self._canvas_seconds = 0, 0.0, 0.0  # since the last step was recorded

    # ------------------------------------------------------------------ the row

    @property
    def row(self) -> np.ndarray:
        return self.state.row

    def masked(self, first: int = 0, end: int | None = None) -> np.ndarray:
        """Masked positions."""
        return first + np.flatnonzero(self.row[first:end] < 0)

    def schedules(self, block: int | None = None) -> Iterator[StepPlan]:
        """Of each block that has masked positions, from left to right: its share of all steps. A schedule begins when it is asked
        for. Where there are more blocks than steps, neighbours are filled in as one."""
        masked = [(end, int((self.row[first:end] < 0).sum())) for first, end in blocks_of(len(self.row), block)]
        blocks = [one for one in masked if one[1]]
        together = max(1, -(-len(blocks) // max(1, self.steps)))
        groups = [blocks[first : first + together] for first in range(0, len(blocks), together)]
        # Beside a step for each block those for what else is masked: as many steps as masked positions are one a position.
        more, others = self.steps - len(groups), max(1, sum(count for _, count in blocks) - len(groups))
        first = before = 0
        for group in groups:
            end, after = group[-1][0], before + sum(count for _, count in group) - 1
            self.state = replace(self.state, step=0)
            yield StepPlan(first, end, 1 + more * after // others - more * before // others)
            first, before = end, after

    def share(self, schedule: StepPlan) -> int:
        """How many positions are to be committed now."""
        return schedule.share(self.row, self.state.step)

    # ------------------------------------------------------------------ the model

    def read(self, end: int | None = None) -> Asking[Logits]:
        """Logits [seen, V] of the row, in one call. With `end`, masks from there on are cut off, up to the last known id."""
        logits: Logits = (yield from self.read_all([self.row], end))[0]
        return logits

    def read_all(self, rows: list[np.ndarray], end: int | None = None) -> Asking[Sequence[Logits]]:
        """Logits [rows, seen, V] of several rows, in one call."""
        batch = np.stack(rows)
        if end is not None:
            known = np.flatnonzero((batch >= 0).any(0))
            batch = batch[:, : max(end, int(known[-1]) + 1 if len(known) else 0)]
        return (yield batch)

    def spend(self, calls: int, seconds: float) -> None:
        """So much of the model was used for this row."""
        self._calls, self._model_seconds = self._calls + calls, self._model_seconds + seconds

    # ------------------------------------------------------------------ steps

    def step(
        self, choose: Rule, logits: Logits, positions: np.ndarray, schedule: StepPlan, board: Board | None = None
    ) -> None:
        """One look at some masked positions; what is chosen is committed and recorded."""
        self.record(self.outcome(choose, self.state, logits, positions, schedule, board))

    def outcome(
        self,
        choose: Rule,
        state: State,
        logits: Logits,
        positions: np.ndarray,
        schedule: StepPlan,
        board: Board | None = None,
    ) -> Outcome:
        """What a step would do to a state; nothing is changed."""
        board = board or self.boards.whole
        look = self.look(state, logits, positions, schedule, board)
        choice = chosen_by(choose, look)
        row, order, rejected = self.committed(look, choice, board)
        return self.finished(look, row, order, rejected, choice.notes, choice.memory, board=board)

    def finished(
        self,
        look: Look,
        row: np.ndarray,
        order: list[int],
        rejected: list[int],
        notes: dict[str, Any],
        memory: Mapping[str, Any],
        log_p: Mapping[int, float] | None = None,
        board: Board | None = None,
    ) -> Outcome:
        """The outcome of a step that has committed the positions `order`, with as many more of the look's positions as the steps
        that are left ask for, the most confident first.

        log_p   of what was committed, where it is not that of the look
        """
        if len(order) < look.share:
            for position in look.positions[look.by_confidence()].tolist():
                if row[position] < 0 and len(order) < look.share:
                    row = self._with_best(look, row, position, board or self.boards.whole)
                    order.append(position)
        found = dict(log_p or {})
        for p in order:
            if p not in found:
                found[p] = look.reading.log_p(int(np.searchsorted(look.positions, p)), int(row[p]))
        return Outcome(State(row, look.step + 1, memory), order, [int(row[p]) for p in order], rejected, found, notes)

    def look(
        self, state: State, logits: Logits, positions: np.ndarray, schedule: StepPlan, board: Board | None = None
    ) -> Look:
        with self.canvas_time():
            allowed = (board or self.boards.whole).allowed(state.row)
        return Look(
            positions=positions,
            table=logits,
            allowed=Timed(allowed, self),
            step=state.step,
            steps=schedule.steps,
            share=min(len(positions), schedule.share(state.row, state.step)),
            row=state.row,
            vocab=self.vocab,
            draws=self.draws,
            memory=state.memory,
        )

    def committed(self, look: Look, choice: Choice, board: Board) -> tuple[np.ndarray, list[int], list[int]]:
        """The row after a choice, the positions in the order in which they were committed, those whose id was refused."""
        if choice.fill:
            return self._filled(look, board), [int(p) for p in look.positions], []
        positions, ids = read_choice(look, choice)
        with self.canvas_time():
            row = board.commit(look.row, positions, ids, partial=True)
        order = [p for p in positions if row[p] >= 0]
        rejected = [p for p in positions if row[p] < 0]
        for position in positions[: max(1, choice.least)]:
            if row[position] < 0:
                row = self._with_best(look, row, position, board)
                order.append(position)
        return row, order, rejected

    def _with_best(self, look: Look, row: np.ndarray, position: int, board: Board) -> np.ndarray:
        """The row with what is now the best id at a position that completes it: of a few, a canvas finds out only by committing.
        After some the best completion says it; where that is not known, ids are tried on, and one is in the completion that was
        read."""
        with self.canvas_time():
            allowed = Timed(board.allowed(row), self)
        refused: list[int] = []
        while True:
            here = replace(look, row=row, positions=np.array([position]), allowed=Without(allowed, refused))
            if len(refused) == MOST_REFUSED or not len(here.ids[0]):
                try:
                    return self._completed(here, board)
                except Undecided:
                    if not len(here.ids[0]):
                        raise
            token = here.reading.id_at(0)
            with self.canvas_time():
                after = board.commit(row, [position], [token], partial=True)
            if after[position] >= 0:
                return after
            refused.append(token)

    def _filled(self, look: Look, board: Board) -> np.ndarray:
        """The best joint fill of the look's positions; other positions only need to be possible.

        At a temperature a draw from the joint law of the row, where the look is of all that is masked; else one after another, each
        given those before it. So it is, too, where the canvas does not decide which completion is the best.
        """
        is_whole = len(look.positions) == int((look.row < 0).sum())
        try:
            if self.draws.is_greedy:
                return self._completed(look, board)
            if is_whole:
                logits = self._scores(look) / np.float32(self.draws.sampling.warmth)
                with self.canvas_time():
                    return board.drawn(look.row, logits, self.draws.joint())
        except Undecided:
            pass
        row = look.row
        for position in look.positions:
            row = self._with_best(look, row, int(position), board)
        return row

    def _completed(self, look: Look, board: Board) -> np.ndarray:
        """The row with the look's positions as the best completion has them; what others have makes no difference."""
        logits = self._scores(look)
        with self.canvas_time():
            filled = board.fill(look.row, logits)
        row = look.row.copy()
        row[look.positions] = filled[look.positions]
        return row

    def _scores(self, look: Look) -> np.ndarray:
        """The logits of the look's positions, 0 elsewhere."""
        logits = np.zeros((len(look.row), look.table.shape[1]), np.float32)
        logits[look.positions] = np.maximum(look.table[look.positions], IMPOSSIBLE)
        return logits

    # ------------------------------------------------------------------ the trace

    def record(self, outcome: Outcome) -> None:
        """The outcome is what happened; times and calls since the last step are its own."""
        times = {"model_ms": 1000 * self._model_seconds, "canvas_ms": 1000 * self._canvas_seconds}
        self.trace.append(
            TraceStep(self._calls, outcome.committed, outcome.tokens, outcome.rejected, **times, notes=outcome.notes)
        )
        self._calls, self._model_seconds, self._canvas_seconds = 0, 0.0, 0.0
        self.state = outcome.state
        self.log_p |= outcome.log_p

    @contextmanager
    def canvas_time(self) -> Iterator[None]:
        start = perf_counter()
        yield
        self._canvas_seconds += perf_counter() - start


def blocks_of(length: int, block: int | None) -> Iterator[tuple[int, int]]:
    for first in range(0, length, block or max(length, 1)):
        yield first, min(first + (block or length), length)


def chosen_by(choose: Rule, look: Look) -> Choice:
    """A sampler of the caller's own may return anything."""
    choice = choose(look)
    if not isinstance(choice, Choice):
        raise TypeError(
            f"the sampler returned {type(choice).__name__}; it returns a Choice, as look.choose(order, count) and look.fill() do"
        )
    for name, value, kind in (
        ("positions", choice.positions, (Sequence, np.ndarray)),
        ("ids", choice.ids, (Sequence, np.ndarray)),
        ("least", choice.least, (int, np.integer)),
        ("memory", choice.memory, Mapping),
        ("notes", choice.notes, dict),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"the sampler returned a Choice with {name}={value!r:.60}, which is {type(value).__name__}")
    return choice


def read_choice(look: Look, choice: Choice) -> tuple[list[int], list[int]]:
    """The positions and the ids of a choice, which may be anything, too."""
    positions, ids = (
        [as_integer(one, f"the sampler's Choice has lists of {name}") for one in given]
        for name, given in (("positions", choice.positions), ("ids", choice.ids))
    )
    seen, width = set(look.positions.tolist()), look.table.shape[1]
    wrong = next((position for position in positions if position not in seen), None)
    if wrong is not None:
        raise ValueError(f"the sampler chose position {wrong}, which is not one of those that it may choose")
    if not positions or len(positions) != len(ids) or len(set(positions)) != len(positions):
        raise ValueError(
            f"the sampler chose no position, or {len(positions)} positions and {len(ids)} ids; it chooses one or more, each once, "
            "with its id"
        )
    outside = next((token for token in ids if not 0 <= token < width), None)
    if outside is not None:
        raise ValueError(f"the sampler chose the id {outside}; ids are from 0 to {width - 1}")
    return positions, ids


class Timed:
    """Allowed ids whose making is the canvas's time."""

    def __init__(self, allowed: Allowed, run: Run):
        self._allowed, self._run = allowed, run

    def row(self, position: int) -> np.ndarray:
        with self._run.canvas_time():
            return self._allowed.row(position)

    def test(self, position: int, ids: Any) -> np.ndarray:
        with self._run.canvas_time():
            return self._allowed.test(position, ids)


class Without(Allowed):
    """Allowed ids but for some, which were tried."""

    def __init__(self, allowed: Allowed, refused: list[int]):
        self._allowed, self._refused = allowed, np.array(refused, np.int64)

    def row(self, position: int) -> np.ndarray:
        words = self._allowed.row(position)
        if not len(self._refused):
            return words
        found = words.copy()
        bits = np.uint32(1) << (self._refused & 31).astype(np.uint32)
        np.bitwise_and.at(found.view(np.uint32), self._refused >> 5, ~bits)
        return found
