"""Searches: methods that follow several texts of one prompt at once and choose among them.

    from grammarlm.decoding import search

    @search
    def best_first(tree, n, *, width=5):
        # the most probable texts: goes on with the best so far, wherever it is
        heap, found = [tree.root], []
        while heap and len(found) < n:
            best = heappop(heap)
            if best.is_over:
                found.append(best)
            else:
                for one in tree.extend([best], width):
                    heappush(heap, one)
        return found

    gl.generate(model, prompt, schema=Person, method=best_first, width=3)

Whoever draws asks `tree.steps` for the distributions themselves, and chooses its texts by `steps.take` (branches.py). beam, smc,
lookahead and trials are such functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, Protocol, overload

from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result
from grammarlm.decoding.tree.branches import answers_of_prompt
from grammarlm.decoding.tree.tree import Candidate, Tree


class Search(Protocol):
    """A function of the tree of one prompt's texts, of how many answers are wanted, and of options of its own.

        def greedy(tree, n):
            best = tree.root
            while not best.is_over:
                best = tree.extend([best], 1)[0]
            return [best]

    It returns candidates that are over, or Results (`tree.result(text)`), best first. Where there are fewer than n the last one is
    given again; none at all is an answer that failed, with the reason of the last `extend`. Its keyword-only arguments are options
    of generate(). The same arguments must give the same answers: random numbers are made of `tree.sampling.seed`.
    """

    def __call__(self, tree: Tree, n: int, /, *args: Any, **options: Any) -> Sequence[Candidate | Result]:
        """The n best answers that it finds."""


class Searched:
    """A search as a method of generate(); made by `search`."""

    tree: type[Tree] = Tree

    def __init__(self, find: Search, *, is_independent: bool = False):
        update_wrapper(self, find)
        self.find, self.is_independent = find, is_independent

    def __call__(self, request: Request, **options: Any) -> list[Result]:
        sampling = request.specs[0].settings.sampling
        check_whole_distribution(sampling, self.__name__)
        results: list[Result] = []
        for one in request.batches(1):  # one prompt at a time: the texts of a search share their forwards
            if self.is_independent:
                for number in range(request.n):
                    results += self._answers(self.tree(one, sampling.of_sample(number)), 1, options)
            else:
                results += self._answers(self.tree(one, sampling), request.n, options)
        return results

    def _answers(self, tree: Tree, n: int, options: dict[str, Any]) -> list[Result]:
        return answers_of_prompt(tree, n, partial(self._found, tree, n, options))

    def _found(self, tree: Tree, n: int, options: dict[str, Any]) -> list[Result]:
        found = self.find(tree, n, **options)
        if not isinstance(found, Sequence) or not all(isinstance(one, (Candidate, Result)) for one in found):
            raise TypeError(
                f"{self!r} returned {found!r:.100}; it returns a list of candidates that are over, or of results"
            )
        if not found:
            raise tree.nothing_found()
        best = [found[min(rank, len(found) - 1)] for rank in range(n)]
        return [one if isinstance(one, Result) else tree.result_of(one) for one in best]

    def __repr__(self) -> str:
        return f"<search {self.__name__}>"

    __name__: str  # the function's own


@overload
def search(find: Search) -> Searched: ...


@overload
def search(*, is_independent: bool) -> Callable[[Search], Searched]: ...


def search(find: Search | None = None, *, is_independent: bool = False) -> Any:
    """Decorator: makes a function of a tree (`Search`) a method of generate().

    is_independent: True for a search that draws: it is called for each of the n answers by itself, with n=1 and a tree whose seed
    is that of the answer.
    """
    return partial(Searched, is_independent=is_independent) if find is None else Searched(find)


def check_whole_distribution(sampling: Sampling, method: str) -> None:
    """ValueError for top-k, top-p, min-p and typical-p: truncating the masked distribution leaves no well-defined target law."""
    given = [name for name in ("top_k", "top_p", "min_p", "typical_p") if getattr(sampling, name) is not None]
    if given:
        raise ValueError(
            f"{given[0]}= with method={method!r}, which goes by all that the model's distribution has; leave it out, or take "
            'method="masked" or "best_of"'
        )
