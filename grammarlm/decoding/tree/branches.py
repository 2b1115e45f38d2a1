"""Texts that branch: model distribution, grammar mask and predicate for any of them.

The methods that follow several texts at once (particles, beams, lookahead) have nodes for them (text_node.py), and ask about any of
them:

    branches = Branches(request, sampling)
    one, two = branches.beginnings()                # of the answers to two prompts
    steps = branches.steps([one, two])              # log-probabilities, and the allowed tokens
    steps = branches.steps([one.child(5), one.child(7), two.child(5)])

Texts that are asked about together have equal length and no duplicates. Usually each is a text of the last call with one more
token; then the model reads only that token, on top of its key-value cache, whose rows are dropped, repeated and reordered to match
(and left alone if nothing changes). Backtracking is expensive: if the prefix of one text is not in the cache, all texts are read
again from the start. A matcher whose prefix is not cached is replayed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.failures import Ending, RowFailure, answer_of, no_distribution, nothing_left, said
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.loop.row import Choice, Row, readable
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.result import Result
from grammarlm.decoding.task import Compiled
from grammarlm.masks.batch import fill_masks
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.matcher import Matcher

from .text_node import Note, TextNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grammarlm.decoding.request import Request


class Dead(Exception):
    """A text failed, and the answers to its prompt with it: a search over several texts cannot go on without one of them."""

    def __init__(self, text: TextNode, ending: Ending):
        super().__init__(ending.error)
        self.text, self.ending = text, ending


@dataclass(frozen=True)
class Steps:
    """The distributions of the next token after each of some texts. Arrays are float32 [rows, V], log-probabilities.

    `model`    the model's own
    `drawn`    the sampling distribution, softmax(logits / temperature) with penalties: sums to 1
    `allowed`  the same, -inf where the grammar forbids: its total mass is what the grammar left
    `failures` texts that cannot go on, though the grammar allows something: all of `allowed` is -inf there
    """

    texts: list[TextNode]
    model: np.ndarray
    drawn: np.ndarray
    allowed: np.ndarray
    failures: dict[TextNode, RowFailure] = field(default_factory=dict)
    _taken: dict[tuple[int, int], TextNode] = field(default_factory=dict, repr=False)  # by row and token

    def check(self) -> Steps:
        """Raises Dead if one of the texts cannot go on."""
        for text, failure in self.failures.items():
            raise Dead(text, Ending.of(failure))
        return self

    def nothing_left(self, row: int) -> Ending:
        """How a text ends whose `allowed` is -inf everywhere."""
        text = self.texts[row]
        return Ending.of(self.failures.get(text) or nothing_left(text.length, self.model.shape[1]))

    def log_left(self) -> list[float]:
        """The log of the mass that the grammar left, at most 0."""
        return [min(log_sum(row), 0.0) for row in self.allowed]

    def log_end(self, row: int, stops: Iterable[int]) -> float:
        """Log-probability that the text ends here: the sum over all stop ids."""
        return log_sum(self.model[row, [stop for stop in stops if stop < self.model.shape[1]]])

    def split(self) -> list[Steps]:
        """One Steps for each text."""
        rows = zip(self.texts, self.model, self.drawn, self.allowed, strict=True)
        return [Steps([text], model[None], drawn[None], allowed[None]) for text, model, drawn, allowed in rows]

    def take(self, row: int, token: int, log_left: float) -> TextNode:
        """The text of this row with the token appended; `log_left` is the log mass that it was drawn from."""
        found = self._taken.get((row, token))
        if found is None:
            own, allowed = float(self.model[row, token]), float(self.allowed[row, token])
            note = Note(min(allowed - log_left, 0.0), own, self.mass_removed(row))
            found = self._taken[row, token] = self.texts[row].child(token, note)
        return found

    def mass_removed(self, row: int) -> float:
        """The probability, at temperature 1, of the forbidden tokens."""
        return max(0.0, -math.expm1(log_sum(np.where(self.allowed[row] > -np.inf, self.model[row], -np.inf))))


class Branches:
    """All texts of one call of generate()."""

    def __init__(self, request: Request, sampling: Sampling):
        """`sampling`: the temperature and penalty of `drawn`; temperature 0 is treated as 1."""
        self.request, self.tasks, self.sampling = request, request.tasks, sampling
        self.vocab = request.tasks[0].vocab
        if any(task.rest for task in self.tasks):
            raise ValueError(
                'heal=True takes tokens of this prompt back, which only method="masked" and "best_of" write again'
            )
        self.stops = frozenset(self.vocab.stop_ids)
        self.forwards = 0
        self.seconds = {"model_seconds": 0.0, "mask_seconds": 0.0, "sampling_seconds": 0.0}
        self._read: list[TextNode] = []  # the texts that the reader has read, row by row
        self._reader: Reader | None = None
        started = [task.matcher() for task in self.tasks]
        self.closes = [closes for _, closes in started]
        self._starts = [matcher for matcher, _ in started]
        self._matchers: dict[TextNode, Matcher] = {}
        self._data: dict[TextNode, bytes] = {}
        self._answers: dict[tuple[int, str], bool | RowFailure] = {}

    def beginnings(self) -> list[TextNode]:
        return [TextNode(number) for number in range(len(self.tasks))]

    # ------------------------------------------------------------------ the model and the grammar

    def steps(self, texts: Sequence[TextNode]) -> Steps:
        texts = list(texts)
        with self.timed("model_seconds"):
            logits = self._logits(texts)
        failures: dict[TextNode, RowFailure] = {}
        with self.timed("sampling_seconds"):
            for text, row in zip(texts, logits, strict=True):
                if not math.isfinite(float(row.max())) or np.isnan(row.min()):
                    failures[text] = no_distribution(text.length, row)
                    row.fill(0)
        with self.timed("mask_seconds"):
            masks, is_masked = self._masks(texts, failures)
        with self.timed("sampling_seconds"):
            logits[:, self.vocab.size :] = -np.inf  # ids that do not exist
            model = log_softmax(logits)
            drawn = self._tempered(texts, logits) if self._is_tempered() else model
            allowed = drawn.copy()
            for row, mask, needed in zip(allowed, masks, is_masked, strict=True):
                if needed:
                    row[~bits_of(mask, len(row))] = -np.inf
            allowed[[text in failures for text in texts]] = -np.inf
        self._answers.clear()
        near = {*texts, *(text.parent for text in texts)}
        self._data = {text: data for text, data in self._data.items() if text in near}
        return Steps(texts, model, drawn, allowed, failures)

    def _logits(self, texts: list[TextNode]) -> np.ndarray:
        self.forwards += 1
        row_of = {text: row for row, text in enumerate(self._read)}
        parents = [row_of.get(text.parent) if text.parent is not None else None for text in texts]
        known = [row for row in parents if row is not None]
        if self._reader is not None and len(known) == len(texts):
            self._reader.select(known)
            chunks = [[text.token] for text in texts]
        else:
            prompts = [self.request.prompts[text.prompt] for text in texts]
            room = max(task.max_tokens for task in self.tasks)
            self._reader = open_reader(self.request.model, prompts, room, self.request.cache)
            chunks = [[*begin, *text.tokens()] for begin, text in zip(self._reader.beginnings, texts, strict=True)]
        self._read = texts
        return self._reader.read(chunks, [1] * len(texts)).numpy()

    def _is_tempered(self) -> bool:
        return self.sampling.temperature not in (0.0, 1.0) or self.sampling.repetition_penalty != 1

    def _tempered(self, texts: list[TextNode], logits: np.ndarray) -> np.ndarray:
        logits = logits.copy()
        for text, row in zip(texts, logits, strict=True):
            seen = [*self.tasks[text.prompt].prompt, *text.tokens()]
            self.sampling.penalize(row, seen.__iter__)
        is_finite = np.isfinite(logits)
        with np.errstate(over="ignore"):  # at extreme temperatures; a finite logit stays finite
            logits = (logits - logits.max(axis=1, keepdims=True)) / np.float32(self.sampling.warmth)
            return np.where(is_finite, np.maximum(log_softmax(logits), np.finfo(np.float32).min), -np.inf)

    def _masks(self, texts: list[TextNode], failures: dict[TextNode, RowFailure]) -> tuple[np.ndarray, list[bool]]:
        """The masks, and which of them forbid anything; records the texts whose mask fails."""
        matchers: list[Matcher | None] = []
        for text in texts:
            try:
                matchers.append(self.matcher(text))
            except Exception as error:
                failures[text] = RowFailure(said(error))
                matchers.append(None)
        self._matchers = {text: matcher for text, matcher in zip(texts, matchers, strict=True) if matcher is not None}
        masks = allocate_mask(len(texts), self.vocab.size)
        try:
            return masks, fill_masks(matchers, masks)
        except Exception:  # one by one, to find out which one fails
            needed = [True] * len(texts)
        for row, (text, matcher) in enumerate(zip(texts, matchers, strict=True)):
            try:
                needed[row] = matcher is not None and matcher.fill_mask(masks, row)
            except Exception as error:
                failures[text] = RowFailure(said(error))
        return masks, needed

    def matcher(self, text: TextNode) -> Matcher | None:
        """The matcher after this text: a fork of its prefix's matcher if that is cached, else replayed from the start."""
        start = self._starts[text.prompt]
        if start is None or text in self._matchers:
            return self._matchers.get(text)
        known = None if text.parent is None else self._matchers.get(text.parent)
        found, rest = (start.fork(), text.tokens()) if known is None else (known.fork(), [text.token])
        for token in rest:
            if not found.advance(token):
                raise RuntimeError(f"after {text.length} tokens the mask allowed a token that the matcher refused")
        return found

    # ------------------------------------------------------------------ the predicate

    def held(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool]:
        """As `holds`, but raises Dead where the predicate raised."""
        answers = self.holds(pairs)
        for (text, _), answer in zip(pairs, answers, strict=True):
            if isinstance(answer, Exception):
                raise Dead(text, Ending.of(answer))
        return [bool(answer) for answer in answers]

    def holds(self, pairs: Sequence[tuple[TextNode, int]]) -> list[bool | RowFailure]:
        """Does where= accept the text with this token appended? New questions go to `where.many` as one call, if it has that.

        It sees whole characters only. At an end it is not asked again about a text that it has accepted already. If it raised, the
        exception takes the answer's place.
        """
        asked: list[tuple[int, str] | None] = []
        for text, token in pairs:
            number = text.prompt
            asked.append(None if self.tasks[number].where is None else self._question(number, self.data(text), token))
        new = [key for key in dict.fromkeys(asked) if key is not None and key not in self._answers]
        with self.timed("sampling_seconds"):
            for number in dict.fromkeys(number for number, _ in new):
                self._ask(number, [text for of, text in new if of == number])
        return [True if key is None else self._answers[key] for key in asked]

    def _question(self, number: int, data: bytes, token: int) -> tuple[int, str] | None:
        """The question for where=; None if it has accepted that already. An end is asked about if the text is empty, or ends within
        a character.
        """
        before = readable(data)
        if token in self.stops:
            text = data.decode(errors="replace")
            return None if text != "" and text == before else (number, text)
        after = readable(data + self.bytes_of(token))
        return None if after == before else (number, after)

    def _ask(self, number: int, texts: list[str]) -> None:
        where = self.tasks[number].where
        assert where is not None
        many = getattr(where, "many", None)
        for text in [] if many else texts:
            try:
                self._answers[number, text] = answer_of("where", where, text)
            except RowFailure as failure:
                self._answers[number, text] = failure
        if many:
            try:
                answers = [bool(answer) for answer in many(texts)]
                if len(answers) != len(texts):
                    raise ValueError(f"it was asked about {len(texts)} texts and gave {len(answers)} answers")
                self._answers.update(zip(((number, text) for text in texts), answers, strict=True))
            except Exception as error:
                reason = RowFailure(f"where.many raised {said(error)}")
                self._answers.update(((number, text), reason) for text in texts)

    def data(self, text: TextNode) -> bytes:
        """The bytes of the tokens."""
        if text.parent is None:
            return b""
        if text not in self._data:
            known = self._data.get(text.parent)
            rest = text.tokens() if known is None else [text.token]
            self._data[text] = (known or b"") + b"".join(map(self.bytes_of, rest))
        return self._data[text]

    def bytes_of(self, token: int) -> bytes:
        return b"" if token in self.vocab.special_ids else self.vocab.token_bytes(token)

    def is_full(self, text: TextNode) -> bool:
        """Is the text cut here by max_tokens? Not where the matcher keeps the budget: its mask then allows the end alone."""
        return text.length >= self.tasks[text.prompt].max_tokens and not self.closes[text.prompt]

    # ------------------------------------------------------------------ the result

    def result(self, text: TextNode, *, ending: Ending | None = None, place: int = 0) -> Result:
        """The Result of a text that is over: its tokens are replayed into a Row of the loop, which decides how answers end.

        `ending`: how it ends instead; its grammar is then not used, as that may be what failed.
        """
        is_cut = self.is_full(text)
        if is_cut and ending is None:
            ending = self._refused_whole(text)
        task = replace(self.tasks[text.prompt], scores_forced=False, where=None, sampling=self.sampling)
        row = Row(task if ending is None else replace(task, compiled=Compiled()), place, [])
        for token, note in zip(text.tokens(), text.notes(), strict=True):
            row.prepare()
            row.accept(Choice(token, note.logprob, note.model_logprob), 0.0, note.mass_removed)
        row.prepare()
        if ending is not None:
            row.end(ending)
            row.stats.closes, row.stats.cache_hit = self.closes[text.prompt], self.tasks[text.prompt].compiled.was_there
        elif row.finish_reason is None:
            if is_cut:
                row.finish_reason = "length"
            else:
                row.accept(Choice(self.vocab.stop_ids[0], 0.0, 0.0), 0.0, 0.0)
        row.stats.seed = self.sampling.seed if self.sampling.temperature else None
        row.stats.forwards = self.forwards
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


def answers_of_prompt(branches: Branches, n: int, find: Callable[[], list[Result]]) -> list[Result]:
    """The n answers to one prompt that `find` returns; if it fails, n results that say why."""
    try:
        return find()
    except RowFailure as failure:  # raised by a caller's function, about no single text
        dead = Dead(branches.beginnings()[0], Ending.of(failure))
    except Dead as found:
        dead = found
    return [branches.result(dead.text, ending=dead.ending) for _ in range(n)]


# ------------------------------------------------------------------ rows of numbers


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    return shifted


def log_sum(row: np.ndarray) -> float:
    """Log-sum-exp of one row; -inf where all are -inf."""
    top = float(row.max(initial=-np.inf))
    return top + math.log(float(np.exp(row - row.dtype.type(top)).sum(dtype=np.float64))) if top > -math.inf else top


def bits_of(mask: np.ndarray, width: int) -> np.ndarray:
    """bool [width]: the tokens that a mask row allows; False beyond its end."""
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:width].astype(bool)
    return np.concatenate([bits, np.zeros(width - len(bits), bool)]) if len(bits) < width else bits
