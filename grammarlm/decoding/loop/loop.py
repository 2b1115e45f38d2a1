"""The decoding loop: prepare, forward, choose, for all rows of a batch at once, until each has ended.

    decoding = start(model, "Ada, 36.\n", tokenizer=tokenizer, regex="[0-9]+")     # in decoding/generate.py
    for step in decoding:
        print(step.row, step.token, step.logprob)
    result = decoding.result()          # decoding.results() where there are several texts

`generate` runs it to the end; iterate over it to watch each step. An iteration is one forward of the model, after which each row
has one chosen token more, plus the tokens that its constraint forces before the next choice (row.py).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np
import torch

from grammarlm.decoding.failures import Ending, no_distribution
from grammarlm.decoding.fit import warn_of_width
from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.decoding.logits.log_sums import LogSums
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.result import Result, Stats
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.masks.batch import fill_masks
from grammarlm.masks.mask_array import allocate_mask

from .batcher import Batcher, Queue
from .blending import Blending
from .cost import Cost
from .draft_source import DraftSource
from .forced_draft import ForcedDrafts
from .row import GIVEN_UP, DrawnToken, Row
from .step import Step, accepted, chosen, forced_step, last_step


class Decoding:
    """A batch of texts being decoded, one step at a time. Not thread-safe."""

    keeps_model_logits = False  # True: each step has the logits before masking, at one more copy a step

    def __init__(
        self,
        reader: Reader,
        specs: Sequence[AnswerSpec],
        n: int = 1,
        drafting: DraftSource | None = None,
        queue: Queue | None = None,
        cost: Cost | None = None,
        blending: Blending | None = None,
    ):
        """`reader` is of the first prompts; `queue` is where the others come from, where there are more.

        cost       what the model's forwards cost, as far as it is known
        blending   what makes the rows that tokens are drawn from of masked ones, where it is not the model's own
        """
        self.vocab = specs[0].vocab
        self.rows: list[Row | None] = [None] * (
            len(specs) * n
        )  # all texts: n of the first prompt, n of the second, ...
        self._n, self._drafting = n, drafting
        self._cost = cost or Cost()
        self._forced = ForcedDrafts(self._cost)
        self._batcher = Batcher(reader, specs, n, queue)
        self._blending = blending
        if blending is not None:
            blending.begin(self._batcher.live)
        self.ended = 0  # of the texts
        self._steps: deque[Step] = deque()
        self._preparing = 0.0  # seconds before this forward, drafts left out
        self._log_sums = LogSums()
        self._knows_width = False

    @property
    def stats(self) -> Stats:
        """Statistics of the first text."""
        return (self.rows[0] or self._batcher.live[0]).stats

    @property
    def _live(self) -> list[Row]:
        """The unfinished rows of this turn."""
        return self._batcher.batch

    def __iter__(self) -> Iterator[Step]:
        """The steps not yet consumed; decodes more as needed."""
        while True:
            while self._steps:
                yield self._steps.popleft()
            if not self._batcher.has_more:
                return
            self._turn()

    def turns(self) -> Iterator[list[Step]]:
        """The steps of each forward."""
        while self._batcher.has_more:
            self._turn()
            steps = list(self._steps)
            self._steps.clear()
            yield steps

    def prepare(self) -> None:
        """What comes before the next forward, forced tokens and masks, which a turn finds done; some texts end with it."""
        self._batcher.next()
        with timed(self._live, "mask_seconds"):
            self._prepare()
        self._drop_finished()

    def fork(self, rows: Sequence[Row], samples: Sequence[int]) -> list[Row]:
        """A copy of each of these texts, which goes on from here with the random numbers of the sample of this number."""
        copies, live = [row.sample(number) for row, number in zip(rows, samples, strict=True)], self._live
        self._batcher.spread([*live, *copies], [*range(len(live)), *map(live.index, rows)])
        for copy in copies:
            copy.number = len(self.rows)
            self.rows.append(copy)
        return copies

    def turn(self) -> list[Step]:
        """One forward, where one is needed, and the tokens that it brought."""
        self._turn()
        steps = list(self._steps)
        self._steps.clear()
        return steps

    @property
    def may_join(self) -> bool:
        """Once all texts have begun: can those of another one share their forwards?"""
        return self._batcher.reader.unequal_is_cheap

    def join(self, other: Decoding) -> None:
        """The texts of another one, which have begun as well, come after these; it is not to be used again."""
        self.rows += other.rows
        self._batcher.join(other._batcher)
        self.forget_ended()

    def forget_ended(self) -> None:
        """Only the texts that go on are left, and numbered anew."""
        going = [row for row in self.rows if row is not None and row.finish_reason is None]
        for number, row in enumerate(going):
            row.number = number
        self.rows = list(going)

    def give_up(self, rows: Sequence[Row]) -> None:
        """Ends texts that nobody waits for any more: no later forward reads them, and nothing of them is kept."""
        for row in rows:
            row.finish_reason, self.rows[row.number] = GIVEN_UP, None
        self._drop_finished()

    def results(self) -> list[Result]:
        """All results, n of the first prompt, n of the second, ...; decodes to the end first."""
        for _ in self:
            pass
        return [row.result() for row in self.rows if row]

    def result(self) -> Result:
        """The first result."""
        return self.results()[0]

    # ------------------------------------------------------------------ one iteration

    def _turn(self) -> None:
        self.prepare()
        if self._live:
            logits, scored = self._read()
            start, known = perf_counter(), len(self._steps)
            if self._batcher.is_first:
                logits, scored = self._start(logits, scored)
            self._use(logits, [row for row, count in zip(self._live, scored, strict=True) for _ in range(count)])
            self._cost.note_tokens(len(self._steps) - known, self._preparing + perf_counter() - start)
            self._drop_finished()

    def _prepare(self) -> None:
        start = perf_counter()
        rows = [row for row in self._live if not row.is_prepared]
        is_filled = False
        if len(rows) > 1:  # their masks are filled by several threads where that helps
            is_filled = self._fill_together(rows)
        for row in rows:
            row.prepare(is_filled)
        self._preparing = perf_counter() - start
        if self._n == 1 or not self._batcher.is_first:
            self._draft([row for row in self._live if row.goes_on])

    def _draft(self, rows: list[Row]) -> None:
        """Draft trees for these rows."""
        rollback_is_cheap = self._batcher.reader.rollback_is_cheap
        if self._drafting is not None and (rollback_is_cheap or not self._batcher.is_first):
            for row, tree in zip(rows, self._drafting.propose(rows), strict=True):
                row.propose(tree)
        elif self._drafting is None and rollback_is_cheap and rows:
            for row, draft in zip(rows, self._forced.of(rows), strict=True):
                row.propose(DraftTree.chain(draft))

    def _fill_together(self, rows: list[Row]) -> bool:
        """Fills all masks at once. False if one of them fails: each row then fills its own, and only that row fails."""
        masks = allocate_mask(len(rows), self.vocab.size)
        try:
            needed = fill_masks([None if row.grammar.healed_suffix else row.grammar.matcher for row in rows], masks)
        except Exception:
            return False
        for row, mask, is_masked in zip(rows, masks, needed, strict=True):
            row.grammar.mask[0], row.grammar.is_masked = mask, is_masked
        return True

    def _drop_finished(self) -> None:
        for row in self._batcher.drop_finished():
            if self._drafting is not None:
                self._drafting.drop(row)
            self.ended += len([row] if row.has_begun else self._samples_of(row))

    def _samples_of(self, row: Row) -> list[Row]:
        """The n rows that this row has stood for."""
        samples = [row.sample(j) for j in range(self._n)] if self._n > 1 else [row]
        self.rows[row.number * self._n : (row.number + 1) * self._n] = samples
        for j, sample in enumerate(samples):
            sample.number, sample.has_begun = row.number * self._n + j, True
        return samples

    def _start(self, logits: torch.Tensor, scored: list[int]) -> tuple[torch.Tensor, list[int]]:
        """The prompts have been read: from now on each sample is a row of its own."""
        n = self._n
        ends = np.cumsum([0, *scored])
        indices = [at for i in range(len(scored)) for _ in range(n) for at in range(ends[i], ends[i + 1])]
        if n > 1:
            picked = torch.tensor(indices, dtype=torch.long)
            logits = logits[picked]
            if self._blending is not None:
                self._blending.spread(picked)
        samples = [sample for row in self._live for sample in self._samples_of(row)]
        self._batcher.spread(samples, [i for i in range(len(scored)) for _ in range(n)])
        return logits, [count for count in scored for _ in range(n)]

    # ------------------------------------------------------------------ the model

    def _read(self) -> tuple[torch.Tensor, list[int]]:
        """One forward: the logits that are needed, and how many of them are each text's: first of its ids, then of its nodes."""
        rows, reader = self._live, self._batcher.reader
        reader.keeps_states = self._drafting is not None and self._drafting.needs_states
        chunks, trees = self._chunks(), [row.unread.tree for row in rows]
        scored = [row.unread.scored(chunk) for row, chunk in zip(rows, chunks, strict=True)]
        counts = [count + len(tree) for count, tree in zip(scored, trees, strict=True)]
        if self._blending is not None:
            self._blending.before_read(rows)
        start = perf_counter()
        with timed(rows, "model_seconds"):
            if all(tree.is_chain for tree in trees):
                logits = reader.read(
                    [[*chunk, *tree.tokens] for chunk, tree in zip(chunks, trees, strict=True)], counts
                )
            else:
                logits = reader.read_trees(chunks, scored, trees)
        seconds = perf_counter() - start
        self._cost.note(
            len(rows) * max(len(chunk) + len(tree) for chunk, tree in zip(chunks, trees, strict=True)), seconds
        )
        if rows[0].width is None and not self._knows_width:  # of a bare callable
            warn_of_width(self.vocab.size, logits.shape[1])
        self._knows_width = True
        lengths = []
        for row, chunk, tree in zip(rows, chunks, trees, strict=True):
            row.stats.forwards += 1
            row.unread.read(chunk)
            row.width = logits.shape[1]
            lengths.append(row.length_read + len(tree))
        for row, length in zip(rows, lengths, strict=True):
            row.stats.padded_ids += max(lengths) - length
        if self._drafting is not None:
            self._drafting.observe(rows, logits, scored, reader.states)
        return logits, counts

    def _chunks(self) -> list[list[int]]:
        """The ids that each text reads now: all that are unread; of equal length where others cost more and no draft follows."""
        rows = self._live
        if self._batcher.reader.unequal_is_cheap or any(row.unread.tree for row in rows):
            return [list(row.unread.ids) for row in rows]
        if self._batcher.is_first:
            return [row.unread.start() for row in rows]
        width = min(len(row.unread.ids) for row in rows)
        return [row.unread.ids[:width] for row in rows]

    # ------------------------------------------------------------------ using the logits

    def _use(self, logits: torch.Tensor, owners: list[Row]) -> None:
        """Scores forced tokens and makes the choices; `owners[i]` is the row that logits i belong to."""
        with timed(self._live, "sampling_seconds"):
            log_totals = self._log_sums.of(logits)
        raw = logits.clone().numpy() if self.keeps_model_logits else None
        first: dict[Row, int] = {}  # the index of the logits of the next choice; those of its draft's nodes follow
        for at, (row, log_total) in enumerate(zip(owners, log_totals, strict=True)):
            if row.finish_reason:  # it failed at an earlier token of this chunk
                continue
            if row in first:
                continue
            if not row.unscored and math.isfinite(log_total):
                first[row] = at
            elif not math.isfinite(log_total):
                row.end(Ending.of(no_distribution(len(row.tokens), logits[at].numpy())))
            else:
                step = forced_step(row, log_total, logits[at].numpy())
                if step is not None:
                    self._steps.append(step if raw is None else replace(step, model_logits=raw[at]))
        choices = list(first.items())
        while choices:
            self._choose_at(choices, logits, log_totals, raw)
            nodes = [(row, row.follows_draft()) for row, _ in choices]
            choices = [(row, first[row] + 1 + node) for row, node in nodes if node is not None]
        self._keep()

    def _choose_at(
        self, choices: list[tuple[Row, int]], logits: torch.Tensor, log_totals: list[float], raw: np.ndarray | None
    ) -> None:
        """One more token for each of these rows, from the logits at the given index."""
        for row, at in choices:
            if not math.isfinite(log_totals[at]):
                row.end(Ending.of(no_distribution(len(row.tokens), logits[at].numpy())))
        rows = [row for row, _ in choices if not row.finish_reason]
        chosen_from = [at for row, at in choices if not row.finish_reason]
        if rows:
            kept = logits if len(rows) == len(logits) else logits[torch.tensor(chosen_from)]
            own = None if raw is None else raw[chosen_from]
            self._choose(rows, kept, chosen_from, [log_totals[at] for at in chosen_from], own)

    def _keep(self) -> None:
        """Drops from the model's cache the tokens of drafts that were not drawn."""
        unread = [row.unread for row in self._live]
        if not all(each.tree.is_chain for each in unread):
            self._batcher.reader.keep([each.path for each in unread])
        elif any(len(each.tree) > len(each.path) for each in unread):
            self._batcher.reader.rollback([len(each.tree) - len(each.path) for each in unread])
        for each in unread:
            each.forget_tree()

    def _choose(
        self, rows: list[Row], logits: torch.Tensor, indices: list[int], log_totals: list[float], raw: np.ndarray | None
    ) -> None:
        """One more token for each of these rows; `indices` are their indices among all logits of this forward."""
        with timed(self._live, "mask_seconds"):
            masks, mask_rows = self._apply(rows, logits)
        with timed(self._live, "sampling_seconds"):
            log_allowed = self._log_sums.of_allowed(indices, masks, mask_rows, logits[:, : self.vocab.size].numpy())
            drawn_from = logits
            if self._blending is not None:
                drawn_from = self._blending.rows(rows, logits, indices, masks, mask_rows)
            choices = self._draw(rows, logits, drawn_from, log_allowed)
        with timed(self._live, "mask_seconds"):
            for at, (row, choice, total, left) in enumerate(zip(rows, choices, log_totals, log_allowed, strict=True)):
                removed = max(0.0, -math.expm1(left - total))
                if choice is not None and accepted(row, choice, total, removed):
                    step = last_step(row, drawn_from[at].numpy(), is_forced=False)
                    if row.unread.tree and not row.unread.path:
                        step = replace(step, draft=row.unread.tree)
                    self._steps.append(step if raw is None else replace(step, model_logits=raw[at]))

    def _draw(
        self, rows: list[Row], logits: torch.Tensor, drawn_from: torch.Tensor, log_allowed: list[float]
    ) -> list[DrawnToken | None]:
        """What each row draws; None where it ends instead."""
        if self._blending is None:
            return [chosen(row, own, left) for row, own, left in zip(rows, logits.numpy(), log_allowed, strict=True)]
        choices: list[DrawnToken | None] = []
        for row, own, blended in zip(rows, logits.numpy(), drawn_from.numpy(), strict=True):
            choice = None if row.finish_reason else chosen(row, blended)
            choices.append(choice and replace(choice, logit=float(own[choice.token])))
        return choices

    def _apply(self, rows: list[Row], logits: torch.Tensor) -> tuple[np.ndarray | None, np.ndarray]:
        """Applies the masks. Ids beyond the vocabulary are always masked, as they cannot be decoded.

        Returns the masks, and for each row its index in them (-1: none).
        """
        logits[:, self.vocab.size :] = -math.inf
        masked = [i for i, row in enumerate(rows) if row.grammar.is_masked]
        mask_rows = np.full(len(rows), -1, np.int64)
        if not masked:
            return None, mask_rows
        masks = np.concatenate([rows[i].grammar.mask for i in masked])
        mask_rows[masked] = np.arange(len(masked))
        apply_mask_(logits, masks, rows=mask_rows)
        return masks, mask_rows


@contextmanager
def timed(rows: Sequence[Row], part: str) -> Iterator[None]:
    """Adds the elapsed time of the block to a field of the stats of all rows."""
    rows = list(rows)
    start = perf_counter()
    yield
    seconds = perf_counter() - start
    for row in rows:
        setattr(row.stats, part, getattr(row.stats, part) + seconds)
