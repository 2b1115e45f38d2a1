"""The paths of one prompt in the decoding loop: what a pool's function says of them is done, within the budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from grammarlm.decoding.failures import Ending, RowFailure, message_of
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.loop.step import Step
from grammarlm.decoding.result import Result

from .paths import Moves, Path, Paths, mean_probability

MOST_PATHS = 1024  # of one prompt that are written at once


class PromptPool:
    """A prompt's paths. `name`: what messages call the function."""

    def __init__(self, decoding: Decoding, controller: Callable[[Paths], Moves | None], name: str, budget: int | None):
        self._decoding, self._controller, self._name, self._budget = decoding, controller, name, budget
        self._paths: list[Path] = []  # those that have not been dropped
        self._rows: dict[Path, Row] = {}  # of those that run
        self._ended: list[Result] = []  # in the order of their ends
        self._begun = self._past = 0  # paths; tokens that those have written that run no longer
        self._failure: Result | None = None

    def after_turn(self, steps: Sequence[Step], first: range) -> None:
        """A forward: its steps; `first` are the numbers of the rows that the prompt began with."""
        is_first = not self._begun
        if is_first:
            self._begin([row for row in self._decoding.rows[first.start : first.stop] if row is not None])
        path_of = {row.number: path for path, row in self._rows.items()}
        for step in steps:
            if (path := path_of.get(step.row)) is not None:
                path.take(step)
                if is_first and step.is_forced and path.number:
                    path.inherited += 1  # what is forced before the first choice all have in common
        self._take_ends()
        if self._rows:
            self._move()

    def results(self) -> list[Result]:
        """Those of the paths that are over, in the order of their ends; the one that says why where the function failed."""
        found = [self._failure] if self._failure else self._ended
        for one in found:
            one.stats.log.append({"paths": self._begun, "tokens": self._spent})
        return found

    @property
    def _spent(self) -> int:
        return self._past + sum(path.written for path in self._rows)

    def _begin(self, rows: Sequence[Row], parents: Sequence[Path | None] | None = None) -> None:
        for row, parent in zip(rows, parents or [None] * len(rows), strict=True):
            path = Path(self._begun, row, parent)
            self._begun += 1
            self._paths.append(path)
            self._rows[path] = row

    def _take_ends(self) -> None:
        """The results of paths that are over now; nothing else of their rows is kept."""
        ended = [(path, row) for path, row in self._rows.items() if row.finish_reason is not None]
        for path, row in sorted(ended, key=lambda one: (len(one[1].tokens), one[0].number)):
            self._past += path.written  # before a stop string is taken off
            path.result, self._decoding.rows[row.number] = row.result(), None
            self._ended.append(path.result)
            path.logits = None
            del self._rows[path]

    def _move(self) -> None:
        """Asks the function, and does what it says."""
        try:
            going, forks = self._asked()
        except RowFailure as failure:
            self._fail(failure)
            return
        except Exception as error:
            self._fail(RowFailure(f"{self._name} raised {message_of(error)}"))
            return
        if self._budget is not None:
            going.sort(key=lambda path: (-mean_probability(path.logprobs), path.number))
            needs = [self._need(path) for path in (*going, *forks)]
            flags = carried(needs, self._budget - self._spent)
            forks = [path for path, is_carried in zip(forks, flags[len(going) :], strict=True) if is_carried]
            going = [path for path, is_carried in zip(going, flags, strict=False) if is_carried]
        self._drop(set(self._rows).difference(going))
        if forks:
            rows = [self._rows[path] for path in forks]
            self._begin(self._decoding.fork(rows, range(self._begun, self._begun + len(rows))), forks)

    def _asked(self) -> tuple[list[Path], list[Path]]:
        """The paths that go on, and those that are forked."""
        moves = self._controller(Paths(self._paths, self._spent, self._budget))
        moves = Moves() if moves is None else moves
        if not isinstance(moves, Moves) or not {*moves.fork, *moves.drop} <= set(self._rows):
            raise TypeError(f"it returned {moves!r:.120}; it returns None, or Moves of paths that are not over")
        gone = set(self._rows if moves.stop else moves.drop)
        going, forks = [path for path in self._rows if path not in gone], list(moves.fork)
        if both := gone.intersection(forks):
            raise ValueError(f"it forks and drops {both.pop()!r}; a fork goes on beside its path")
        if len(going) + len(forks) > MOST_PATHS:
            raise ValueError(f"it forks {len(forks)} of {len(going)} paths; at most {MOST_PATHS} run at once")
        if not going and not self._ended:
            raise ValueError("it dropped all paths before one was over")
        return going, forks

    def _need(self, path: Path) -> tuple[int, int]:
        """Tokens that the next forward adds to a path, at most, and those that may follow."""
        row = self._rows[path]
        coming = len(row.unscored) + row.goes_on
        return coming, row.spec.settings.max_tokens - len(row.tokens) - coming

    def _fail(self, why: RowFailure) -> None:
        """The answers to this prompt fail."""
        row = next(iter(self._rows.values()))
        self._drop(set(self._rows))
        row.end(Ending.of(why))
        self._failure = row.result()

    def _drop(self, paths: AbstractSet[Path]) -> None:
        self._decoding.give_up([self._rows.pop(path) for path in paths])
        self._past += sum(path.written for path in paths)
        self._paths = [path for path in self._paths if path not in paths]
        for path in paths:
            path.logits = None


def carried(needs: Sequence[tuple[int, int]], tokens: int) -> list[bool]:
    """Which paths so many tokens carry, the first ones first: after the next forward each of them can be finished alone."""
    coming = rest = 0
    flags = []
    for more, after in needs:
        flags.append(coming + more + max(rest, after) <= tokens)
        if flags[-1]:
            coming, rest = coming + more, max(rest, after)
    return flags
