"""Pools: methods that write several answers to a prompt at once, and say between forwards which of them are gone on with.

    from grammarlm.decoding import Moves, pool

    @pool
    def halving(paths, *, every=8):
        running = sorted(paths.running, key=lambda path: -sum(path.logprobs))
        if len(running) > 1 and len(running[0].tokens) % every == 0:
            return Moves(drop=running[len(running) // 2 :])

    gl.generate(model, prompt, schema=Person, method=halving, candidates=8, every=4)

The paths are rows of the ordinary loop, so all that it does works with them: filters, forced tokens, max_tokens, where=, stop
strings, batches. The function sees what the prompt's paths have written (`Paths`), and answers with `Moves`: forks, which go on
from the same tokens, cache row and matcher with random numbers of their own; drops, of which nothing is kept; the end of all.

Two options are those of every pool. `candidates=` paths begin, as the first so many masked draws. `budget=` bounds the tokens that
all paths of a prompt write together, what forks share counted once. It is kept, whatever the function says: as many paths begin,
are forked and go on as can be, so that each one could be finished alone; the least probable ones are dropped.

The answers are chosen among the paths that are over: n of those that were complete first, or as `choose` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from inspect import Parameter, signature
from typing import Any, Protocol, overload

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.failures import message_of
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.errors import shorten

from .candidates import ROWS, NoDrafts, is_complete, warmed
from .paths import Moves, Paths
from .running import MOST_PATHS, PromptPool

Choose = Callable[[list[Result]], Sequence[Result]]


class Controller(Protocol):
    """A function of the paths of one prompt (`Paths`), called after each forward while one of them is not over.

        def first_only(paths):
            return Moves(drop=paths.running[1:])

    It returns `Moves`, or None: all go on. Its keyword-only arguments are options of generate(). Where it raises, the answers to
    this prompt fail, with the reason.
    """

    def __call__(self, paths: Paths, /, **options: Any) -> Moves | None:
        """What becomes of them."""


@dataclass(frozen=True)
class PoolSettings:
    """How a pool is run, beside its function; `name`: as messages call that."""

    name: str
    candidates: int
    budget: int | None = None
    reads_logits: bool = False
    choose: Choose | None = None


def run(request: Request, controller: Callable[[Paths], Moves | None], settings: PoolSettings) -> list[Result]:
    """n answers to each prompt. Temperature 0 is taken as 1."""
    candidates, budget = settings.candidates, settings.budget
    check_integer("candidates", candidates, 1, MOST_PATHS)
    n, asked = request.n, warmed(request, candidates)
    if budget is not None:
        most = request.specs[0].settings.max_tokens
        check_integer("budget", budget, 1)
        if budget < most:
            raise ValueError(
                f"budget={budget} is less than one path may need, max_tokens={most}; raise it, or lower max_tokens"
            )
        asked = replace(asked, n=min(candidates, budget - most + 1))
    results: list[Result] = []
    for batch in asked.batches(max(1, ROWS // candidates)):
        decoding = Decoding(batch.reader(), batch.specs, batch.n, NoDrafts())
        decoding.keeps_model_logits = settings.reads_logits
        pools = [PromptPool(decoding, controller, settings.name, budget) for _ in batch.prompts]
        for steps in decoding.turns():
            decoding.prepare()
            for number, pool in enumerate(pools):
                pool.after_turn(steps, range(number * batch.n, (number + 1) * batch.n))
        for pool in pools:
            results += chosen(pool.results(), n, settings)
    return results


def chosen(answers: list[Result], n: int, settings: PoolSettings) -> list[Result]:
    """The n best of those that are over, in the order of their ends; where there are fewer the last one again."""
    try:
        best = list((settings.choose or complete_first)(answers))
        if not best or not all(isinstance(one, Result) for one in best):
            raise TypeError(f"it returned {best!r:.100}; it returns results, the best one first")
    except Exception as error:
        why = shorten(f"choose= of {settings.name} raised {message_of(error)}")
        best = [replace(answers[0], value=None, finish_reason="error", error=why)]
    return [best[min(rank, len(best) - 1)] for rank in range(n)]


def complete_first(answers: list[Result]) -> list[Result]:
    """The complete ones; where none is, all."""
    return [one for one in answers if is_complete(one)] or answers


class Pooled:
    """A pool as a method of generate(); made by `pool`."""

    def __init__(self, function: Controller, candidates: int, reads_logits: bool, choose: Choose | None):
        update_wrapper(self, function)
        self.function = function
        self.settings = PoolSettings(f"the pool {self.__name__}", candidates, None, reads_logits, choose)
        own = signature(function)
        kept = [one for one in own.parameters.values() if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
        request = Parameter("request", Parameter.POSITIONAL_ONLY)
        shared = [Parameter(one, Parameter.KEYWORD_ONLY) for one in ("candidates", "budget")]
        self.__signature__ = own.replace(parameters=[request, *shared, *kept])  # what settings_of finds options by

    def __call__(self, request: Request, **options: Any) -> list[Result]:
        candidates = options.pop("candidates", self.settings.candidates)
        settings = replace(self.settings, candidates=candidates, budget=options.pop("budget", None))
        return run(request, partial(self.function, **options), settings)

    def __repr__(self) -> str:
        return f"<pool {self.__name__}>"

    __name__: str  # the function's own


@overload
def pool(function: Controller) -> Pooled: ...


@overload
def pool(
    *, candidates: int = 4, logits: bool = False, choose: Choose | None = None
) -> Callable[[Controller], Pooled]: ...


def pool(
    function: Controller | None = None, *, candidates: int = 4, logits: bool = False, choose: Choose | None = None
) -> Any:
    """Decorator: makes a function of paths (`Controller`) a method of generate().

    candidates   how many paths begin, where generate() is not told
    logits       True: each path has the model's own logits, `path.logits`, at one more copy a step
    choose       a function of the Results of the paths that are over, in the order of their ends: the answers, the best one first
    """
    check_integer("candidates", candidates, 1, MOST_PATHS)

    def decorate(function: Controller) -> Pooled:
        if not callable(function):
            raise TypeError(f"@pool got {type(function).__name__}; it takes a function of paths")
        return Pooled(function, candidates, logits, choose)

    return decorate if function is None else decorate(function)
