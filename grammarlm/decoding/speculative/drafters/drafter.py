"""The interface of drafters.

    A drafter of runs finds whole continuations: one is a chain, several are the branches of a tree.
    A drafter of nodes says what may follow a node, best first; shapes.py makes chains and trees of that.

What a drafter remembers between calls lives in it, and so in the `Draft` object, never in the process: a shared memory would tell
one user what another one has written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from grammarlm.decoding.failures import message_of
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.draws import Candidates
from grammarlm.decoding.speculative.observer import Observer, Target

__all__ = ["Candidates", "Drafter", "NodeDrafter", "RunDrafter", "Target", "told", "trying"]


class Drafter(Observer):
    """What all drafters share: by default they learn nothing."""

    length = 8  # tokens of a chain, where nothing else is asked for
    needs_grammar = False  # drafts nothing of free text
    has_probabilities = False  # does it say how probable its tokens are?
    has_reader = False  # of its own, around the target's: then no prompt joins a batch that runs
    has_failed = False  # in this call; it is asked nothing more
    # Tokens that are drawn, of so many, where that is known before the first draft.
    usual: tuple[float, float] | None = None
    is_lossless = True  # are the answers those of the target? (The acceptance rule may say otherwise.)

    def reader(self, reader: Reader) -> Reader:
        """What reads the answers of this call: the target's own reader, or one around it that reads more."""
        return reader

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        """Drafts for these answers are made next."""

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        """These nodes of the last tree were drawn, the rest was not."""

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        """The answer has these tokens more; at first its prompt."""


@contextmanager
def trying(drafter: Drafter) -> Iterator[None]:
    """What goes wrong in a drafter costs what it would have drafted in the rest of this call, and a warning; no answer."""
    try:
        yield
    except Exception as error:
        if not drafter.has_failed:
            drafter.has_failed = True
            warnings.warn(
                f"the drafter {type(drafter).__name__} failed, and drafts nothing more in this call; the answers are not "
                f"affected: {message_of(error)}",
                RuntimeWarning,
                stacklevel=3,
            )


def told(drafter: Drafter, tell: Callable[[Drafter], None]) -> None:
    """Tells a drafter something, unless it has failed."""
    if not drafter.has_failed:
        with trying(drafter):
            tell(drafter)


class RunDrafter(Drafter):
    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        """At most `count` continuations of at most `length` tokens, the likeliest first."""
        raise NotImplementedError


class NodeDrafter(Drafter):
    length = 4
    has_probabilities = True

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        """What may follow each (answer, node): at most `width` tokens each, or all where there is a row."""
        return [self.after_node(growth, node) for growth, node in asked]

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        """What may follow one node; asked where a drafter looks at them one by one."""
        raise NotImplementedError
