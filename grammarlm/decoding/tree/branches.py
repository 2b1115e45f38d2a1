"""Texts that branch: model distribution, grammar mask and predicate for any of them.

The methods that follow several texts at once (particles, beams, lookahead) have nodes for them (text_node.py), and ask about any of
them:

    branches = Branches(request, sampling)
    one, two = branches.beginnings()                # of the answers to two prompts
    steps = branches.steps([one, two])              # log-probabilities, and the allowed tokens (steps.py)
    steps = branches.steps([one.child(5), one.child(7), two.child(5)])

Texts that are asked about together are no duplicates. Usually each is a text of the last call with one more token; then the model
reads only that token, on top of its key-value cache, whose rows are dropped, repeated and reordered to match. A text that was left
before is read from where it parts from those of the last call (text_logits.py); its matcher is replayed (text_masks.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np
import torch

from grammarlm.decoding.failures import Ending, RowFailure, no_distribution
from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.decoding.logits.log_sums import LogSums
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.loop.row import DrawnToken, Row
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result

from .steps import Dead, Steps, log_softmax
from .text_logits import KeptRows, TextLogits
from .text_masks import TextMasks
from .text_node import TextNode
from .text_predicate import TextPredicate


class Branches:
    """All texts of one call of generate(): what the model, the grammars and the predicates say about them, put together."""

    def __init__(self, request: Request, sampling: Sampling):
        """`sampling`: the temperature and penalty of `drawn`; temperature 0 is treated as 1."""
        self.specs, self.sampling = request.specs, sampling
        self.vocab = request.specs[0].vocab
        if any(spec.healed_suffix for spec in self.specs):
            raise ValueError(
                'heal=True takes tokens of this prompt back, which only method="masked" and "best_of" write again'
            )
        self.stops = frozenset(self.vocab.stop_ids)
        self.seconds = {"model_seconds": 0.0, "mask_seconds": 0.0, "sampling_seconds": 0.0}
        self._logits, self._masks, self._log_sums = TextLogits(request), TextMasks(request.specs), LogSums()
        self._predicate = TextPredicate(request.specs)

    def beginnings(self) -> list[TextNode]:
        return [TextNode(number) for number in range(len(self.specs))]

    def keep_rows(self, room: int) -> None:
        """From now on what has been read of each text is kept, the latest within so many bytes: for texts in any order."""
        self._logits.kept = KeptRows(room)

    def steps(self, texts: Sequence[TextNode]) -> Steps:
        texts = list(texts)
        with self.timed("model_seconds"):
            logits = self._logits.after(texts)
        with self.timed("sampling_seconds"):
            failures = without_distribution(texts, logits)
        with self.timed("mask_seconds"):
            masks, is_masked, failed = self._masks.after(texts)
            failures.update(failed)
        with self.timed("sampling_seconds"):
            logits[:, self.vocab.size :] = -np.inf  # ids that do not exist
            mask_rows = np.where(is_masked, np.arange(len(texts)), -1)
            if self._is_tempered():
                model, drawn = log_softmax(logits), self._tempered(texts, logits)
                steps = Steps(texts, model, drawn, drawn.copy(), failures)
                apply_mask_(torch.from_numpy(steps.allowed), masks, rows=mask_rows)
            else:
                steps = self._plain_steps(texts, logits, masks, mask_rows, failures)
            steps.allowed[[text in failures for text in texts]] = -np.inf
        self._predicate.next_step(texts)
        return steps

    def _plain_steps(
        self,
        texts: list[TextNode],
        logits: np.ndarray,
        masks: np.ndarray,
        mask_rows: np.ndarray,
        failures: dict[TextNode, RowFailure],
    ) -> Steps:
        """Without temperature one pass of exponentials tells all sums of the rows."""
        masked = logits.copy()
        totals = np.array(self._log_sums.of(torch.from_numpy(logits)))
        apply_mask_(torch.from_numpy(masked), masks, rows=mask_rows)
        every = range(len(texts))
        left = np.array(self._log_sums.of_allowed(every, masks, mask_rows, masked[:, : self.vocab.size])) - totals
        tops = logits.max(axis=1, keepdims=True)
        sums = (totals[:, None] - tops).astype(
            np.float32
        )  # in two steps, so that no digits of small differences are lost
        model, allowed = logits - tops, masked - tops
        model -= sums
        allowed -= sums
        steps = Steps(texts, model, model, allowed, failures)
        for row, text in enumerate(texts):
            if text not in failures:
                steps.know(row, float(left[row]), max(0.0, -math.expm1(left[row])))
        return steps

    def _is_tempered(self) -> bool:
        return self.sampling.temperature not in (0.0, 1.0) or self.sampling.repetition_penalty != 1

    def _tempered(self, texts: list[TextNode], logits: np.ndarray) -> np.ndarray:
        logits = logits.copy()
        for text, row in zip(texts, logits, strict=True):
            seen = [*self.specs[text.prompt].prompt, *text.tokens()]
            self.sampling.penalize(row, seen.__iter__)
        is_finite = np.isfinite(logits)
        with np.errstate(over="ignore"):  # at extreme temperatures; a finite logit stays finite
            logits = (logits - logits.max(axis=1, keepdims=True)) / np.float32(self.sampling.warmth)
            return np.where(is_finite, np.maximum(log_softmax(logits), np.finfo(np.float32).min), -np.inf)

    # ------------------------------------------------------------------ the predicate

    def held(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool]:
        """As `holds`, but raises Dead where the predicate raised."""
        with self.timed("sampling_seconds"):
            return self._predicate.held(pairs)

    def holds(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool | RowFailure]:
        """Does where= accept the text with this token appended? If it raised, the exception takes the answer's place."""
        with self.timed("sampling_seconds"):
            return self._predicate.holds(pairs)

    def data(self, text: TextNode) -> bytes:
        """The bytes of the tokens."""
        return self._predicate.data(text)

    def written(self, text: TextNode) -> str:
        """Those as a text."""
        return self.data(text).decode(errors="replace")

    def is_full(self, text: TextNode) -> bool:
        """Is the text cut here by max_tokens? Not where the matcher keeps the budget: its mask then allows the end alone."""
        return text.length >= self.specs[text.prompt].settings.max_tokens and not self._masks.closes[text.prompt]

    # ------------------------------------------------------------------ the result

    def result(self, text: TextNode, *, ending: Ending | None = None, number: int = 0) -> Result:
        """The Result of a text that is over: its tokens are replayed into a Row of the loop, which decides how answers end.

        `ending`: how it ends instead; its grammar is then not used, as that may be what failed.
        """
        is_cut = self.is_full(text)
        if is_cut and ending is None:
            ending = self._refused_whole(text)
        spec = self.specs[text.prompt]
        spec = replace(spec, settings=replace(spec.settings, forced="off", **vars(self.sampling)), where=None)
        row = Row(spec if ending is None else replace(spec, constraint=None), number, [])
        for token, scores in zip(text.tokens(), text.scores(), strict=True):
            row.prepare()
            row.accept(DrawnToken(token, scores.logprob, scores.model_logprob), 0.0, scores.mass_removed)
        row.prepare()
        if ending is not None:
            row.end(ending)
            row.stats.closes, row.stats.cache_hit = (
                self._masks.closes[text.prompt],
                self.specs[text.prompt].was_cached,
            )
        elif row.finish_reason is None:
            if is_cut:
                row.finish_reason = "length"
            else:
                row.accept(DrawnToken(self.vocab.stop_ids[0], 0.0, 0.0), 0.0, 0.0)
        row.stats.seed = self.sampling.seed if self.sampling.temperature else None
        row.stats.forwards, row.stats.checks = self._logits.forwards, self._predicate.asked
        for name, seconds in self.seconds.items():
            setattr(row.stats, name, seconds)
        return row.result()

    def _refused_whole(self, text: TextNode) -> Ending | None:
        """Why a text that is cut has no value: where= sees its last, incomplete character now, and refuses the whole text."""
        [answer] = self.holds([(text, self.vocab.stop_ids[0])])
        if isinstance(answer, Exception):
            return Ending.of(answer)
        return None if answer else Ending.unsatisfied(text.length, self.data(text))

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[part] += perf_counter() - start


def without_distribution(texts: list[TextNode], logits: np.ndarray) -> dict[TextNode, RowFailure]:
    """The texts whose logits are no distribution; they become 0."""
    failures = {}
    for text, row in zip(texts, logits, strict=True):
        if not math.isfinite(float(row.max())) or np.isnan(row.min()):
            failures[text] = no_distribution(text.length, row)
            row.fill(0)
    return failures


def answers_of_prompt(branches: Branches, n: int, find: Callable[[], list[Result]]) -> list[Result]:
    """The n answers to one prompt that `find` returns; if it fails, n results that say why."""
    try:
        return find()
    except RowFailure as failure:  # raised by a caller's function, about no single text
        dead = Dead(branches.beginnings()[0], Ending.of(failure))
    except Dead as found:
        dead = found
    return [branches.result(dead.text, ending=dead.ending) for _ in range(n)]
