"""Reader of several models, of which one is asked at each read of a text; the others read what they have missed at their turn.

    reader = SwitchingReader(openers, prompts)
    reader.chosen = [0, 1, 1]                 # before a read: which model reads each text
    logits = reader.read(chunks, scored)      # a forward of each model that was chosen

Each model has a cache of its own, in which a text is read from where it parts from what this model has read of it: so an id is read
once by a model, whatever the turns were. What no logits are asked of is not read yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from .draft_tree import DraftTree
from .reader import Groups, Reader

Opener = Callable[[list[list[int]]], Reader]  # from prompts to a reader of them


@dataclass(eq=False)
class Text:
    """A text, the same for all models but for its beginning."""

    prompts: Sequence[list[int]]  # one for each model
    answer: list[int] = field(default_factory=list)
    has_begun: bool = False

    def copy(self) -> Text:
        return Text(self.prompts, list(self.answer), self.has_begun)


class Part:
    """One of the models: what it has read of each text."""

    def __init__(self, number: int, opener: Opener):
        self._number, self._opener = number, opener
        self._groups: Groups[Text] = Groups()
        self._known: dict[Text, list[int] | None] = {}  # of the answer; None: nothing, the beginning neither
        self._beginnings: dict[Text, list[int]] = {}

    @property
    def nbytes(self) -> int:
        return self._groups.nbytes

    def open(self, texts: Sequence[Text]) -> Reader:
        reader = self._opener([list(text.prompts[self._number]) for text in texts])
        self._groups.open(texts, reader)
        for text, beginning in zip(texts, reader.beginnings, strict=True):
            self._known[text], self._beginnings[text] = None, beginning
        return reader

    def read(self, texts: Sequence[Text], scored: Sequence[int], trees: Sequence[DraftTree] | None) -> torch.Tensor:
        """The logits after the last `scored` ids of each text, and after each node of its tree."""
        new = [text for text in texts if text not in self._known]
        if new:
            self.open(new)
        reader = self._groups.gather(texts)
        chunks, gone = [], []
        for text, count in zip(texts, scored, strict=True):
            known, answer = self._known[text], text.answer
            kept = 0 if known is None else min(shared(known, answer), len(answer) - count)
            chunks.append([*(self._beginnings[text] if known is None else ()), *answer[kept:]])
            gone.append(0 if known is None else len(known) - kept)
            self._known[text] = list(answer)
        if any(gone):
            reader.rollback(gone)
        if trees is None:
            return reader.read(chunks, scored)
        logits = reader.read_trees(chunks, scored, trees)
        reader.keep([[] for _ in texts])
        return logits

    def drop(self, texts: Sequence[Text]) -> None:
        self._groups.drop(texts)
        for text in texts:
            self._known.pop(text, None)
            self._beginnings.pop(text, None)

    def copy(self, texts: Sequence[Text], copies: Sequence[Text]) -> None:
        """Copy i goes on from `texts[i]`, which are gone."""
        pairs = [(text, copied) for text, copied in zip(texts, copies, strict=True) if text in self._known]
        if not pairs:
            return
        own = list(dict.fromkeys(text for text, _ in pairs))
        self._groups.gather(own)
        self._groups.replace(own, [copied for _, copied in pairs], [own.index(text) for text, _ in pairs])
        for text, copied in pairs:
            self._known[copied], self._beginnings[copied] = self._known[text], self._beginnings[text]
        for text in own:
            del self._known[text], self._beginnings[text]


class SwitchingReader:
    """Texts that one of several models reads at a time."""

    keeps_states = False
    gives_copies = True
    states: list[torch.Tensor] | None = None
    unequal_is_cheap = True  # what the models have to catch up with is unequal anyway
    rollback_is_cheap = False
    reads_trees = False

    def __init__(self, openers: Sequence[Opener], prompts: Sequence[Sequence[list[int]]], width: int | None = None):
        """prompts   of each text, one for each model"""
        self._openers = openers
        self._texts = [Text(each) for each in prompts]
        self._parts = [Part(number, opener) for number, opener in enumerate(openers)]
        self.beginnings = self._parts[0].open(self._texts).beginnings
        self.width = width  # the least of all
        self.chosen = [0] * len(self._texts)
        self._trees: Sequence[DraftTree] = ()

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        return self._read(chunks, scored, None)

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        self._trees = trees
        return self._read(chunks, scored, trees)

    def _read(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree] | None
    ) -> torch.Tensor:
        for text, chunk, beginning in zip(self._texts, chunks, self.beginnings, strict=True):
            text.answer += chunk if text.has_begun else chunk[len(beginning) :]
            text.has_begun = True
        counts = [count + (len(trees[at]) if trees else 0) for at, count in enumerate(scored)]
        found: dict[int, torch.Tensor] = {}
        for number, part in enumerate(self._parts):
            rows = [at for at, chosen in enumerate(self.chosen) if chosen == number and counts[at]]
            if rows:
                own = None if trees is None else [trees[at] for at in rows]
                logits = part.read([self._texts[at] for at in rows], [scored[at] for at in rows], own)
                found |= dict(zip(rows, logits.split([counts[at] for at in rows]), strict=True))
        self.width = min(each.shape[1] for each in found.values()) if self.width is None else self.width
        return torch.cat([found[at][:, : self.width] for at in sorted(found)])

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        for text, tree, path in zip(self._texts, self._trees, paths, strict=True):
            text.answer += [tree.tokens[node] for node in path]

    def rollback(self, counts: Sequence[int]) -> None:
        for text, count in zip(self._texts, counts, strict=True):
            del text.answer[len(text.answer) - count :]

    def select(self, texts: Sequence[int]) -> None:
        chosen = [self._texts[at] for at in texts]
        gone = [text for text in self._texts if text not in set(chosen)]
        if len(set(texts)) < len(texts):
            copies = [text.copy() for text in chosen]
            for part in self._parts:
                part.copy(chosen, copies)
            chosen = copies
        for part in self._parts:
            part.drop(gone)
        self._texts, self.beginnings = chosen, [self.beginnings[at] for at in texts]
        self.chosen = [self.chosen[at] for at in texts]

    def taken(self, texts: Sequence[int]) -> SwitchingReader:
        """Of copies of which nothing has been read: the models catch up."""
        chosen = [self._texts[at] for at in texts]
        other = SwitchingReader(self._openers, [text.prompts for text in chosen], self.width)
        for text, own in zip(other._texts, chosen, strict=True):
            text.answer, text.has_begun = list(own.answer), own.has_begun
        other.chosen = [self.chosen[at] for at in texts]
        return other

    def join(self, other: SwitchingReader) -> None:
        """Its texts are read again, by the models that are asked for them."""
        self._texts += [text.copy() for text in other._texts]
        self.beginnings, self.chosen = self.beginnings + other.beginnings, self.chosen + other.chosen


def shared(one: Sequence[int], two: Sequence[int]) -> int:
    """How many ids they begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
