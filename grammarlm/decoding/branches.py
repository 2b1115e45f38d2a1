"""Texts that branch: what the model, the grammar and the predicate say of any of them.

The methods that follow several texts at once (particles, beams, lookahead) name a text by a tuple, the number of its prompt and
then its tokens, and ask about whatever texts they like:

    branches = Branches(request)
    steps = branches.steps([(0,), (1,)])            # the beginnings of two answers: log-probabilities, and what is allowed
    steps = branches.steps([(0, 5), (0, 7), (1, 5)])

Texts that are asked about together are equally long and each comes once. Who is asked about next is mostly a text of now with
a token more; then the model reads that token only, on top of the cache of what it has read, whose rows are dropped, repeated
and reordered as the texts are (and left where they are if nothing changes). Whoever goes back pays for it: texts
whose beginnings are not in the cache are read anew. The same holds for the grammar's matchers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ..masks.batch import fill_masks
from ..masks.mask_array import allocate_mask
from ..masks.matcher import Matcher
from .failures import Ending, RowFailure, answer_of, no_distribution, nothing_left, said
from .particles import Text
from .readers import Reader, open_reader
from .result import Result
from .row import Choice, Row, readable
from .sampling import Sampling
from .task import Compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .request import Request


class Dead(Exception):
    """A text ends so, and its prompt's answers with it: a search among several texts is nothing without one of them."""

    def __init__(self, text: Text, ending: Ending):
        super().__init__(ending.error)
        self.text, self.ending = text, ending


@dataclass(frozen=True)
class Steps:
    """What may come behind each of some texts. Rows of float32 [V], log-probabilities.

    `model`    the model's own
    `drawn`    those that tokens are drawn from, softmax(logits / temperature) with penalties: sums to 1
    `allowed`  the same, -inf where the grammar forbids: its mass is what the grammar left
    `failures` texts that cannot go on, though the grammar allows something: all of `allowed` is -inf there
    """

    texts: list[Text]
    model: np.ndarray
    drawn: np.ndarray
    allowed: np.ndarray
    failures: dict[Text, RowFailure] = field(default_factory=dict)

    def check(self) -> Steps:
        """Dead where one of the texts cannot go on."""
        for text, failure in self.failures.items():
            raise Dead(text, Ending.of(failure))
        return self

    def nothing_left(self, row: int) -> Ending:
        """How the text ends whose `allowed` is -inf everywhere."""
        text = self.texts[row]
        return Ending.of(self.failures.get(text) or nothing_left(len(text) - 1, self.model.shape[1]))

    def log_left(self) -> list[float]:
        """The log of the mass that the grammar left, at most 0."""
        return [min(log_sum(row), 0.0) for row in self.allowed]

    def log_end(self, row: int, stops: Iterable[int]) -> float:
        """How probable the model finds the end; that of several stop ids is one end."""
        return log_sum(self.model[row, [stop for stop in stops if stop < self.model.shape[1]]])

    def split(self) -> list[Steps]:
        """Each text by itself."""
        rows = zip(self.texts, self.model, self.drawn, self.allowed, strict=True)
        return [Steps([text], model[None], drawn[None], allowed[None]) for text, model, drawn, allowed in rows]

    def mass_removed(self, row: int) -> float:
        """The probability, at temperature 1, of what the grammar forbids."""
        return max(0.0, -math.expm1(log_sum(np.where(self.allowed[row] > -np.inf, self.model[row], -np.inf))))


class Branches:
    """All texts that one call of generate() is about."""

    def __init__(self, request: Request, sampling: Sampling):
        """`sampling`: the temperature and penalty of `drawn`; at temperature 0 they are those of temperature 1."""
        self.request, self.tasks, self.sampling = request, request.tasks, sampling
        self.vocab = request.tasks[0].vocab
        if any(task.rest for task in self.tasks):
            raise ValueError(
                'heal=True takes tokens of this prompt back, which only method="masked" and "best_of" write again'
            )
        self.stops = frozenset(self.vocab.stop_ids)
        self.forwards = 0
        self.seconds = {"model_seconds": 0.0, "mask_seconds": 0.0, "sampling_seconds": 0.0}
        self._read: list[Text] = []  # what the reader has read, row by row
        self._reader: Reader | None = None
        started = [task.matcher() for task in self.tasks]
        self.closes = [closes for _, closes in started]
        self._starts = [matcher for matcher, _ in started]
        self._matchers: dict[Text, Matcher] = {}
        self._data: dict[Text, bytes] = {}
        self._answers: dict[tuple[int, str], bool | RowFailure] = {}

    def beginnings(self) -> list[Text]:
        return [(number,) for number in range(len(self.tasks))]

    # ------------------------------------------------------------------ the model and the grammar

    def steps(self, texts: Sequence[Text]) -> Steps:
        texts = list(texts)
        with self.timed("model_seconds"):
            logits = self._logits(texts)
        failures: dict[Text, RowFailure] = {}
        with self.timed("sampling_seconds"):
            for text, row in zip(texts, logits, strict=True):
                if not math.isfinite(float(row.max())) or np.isnan(row.min()):
                    failures[text] = no_distribution(len(text) - 1, row)
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
        return Steps(texts, model, drawn, allowed, failures)

    def _logits(self, texts: list[Text]) -> np.ndarray:
        self.forwards += 1
        place = {text: row for row, text in enumerate(self._read)}
        if self._reader is not None and all(text[:-1] in place for text in texts):
            self._reader.select([place[text[:-1]] for text in texts])
            chunks = [[text[-1]] for text in texts]
        else:
            prompts = [self.request.prompts[text[0]] for text in texts]
            room = max(task.max_tokens for task in self.tasks)
            self._reader = open_reader(self.request.model, prompts, room, self.request.cache)
            chunks = [[*begin, *text[1:]] for begin, text in zip(self._reader.beginnings, texts, strict=True)]
        self._read = texts
        return self._reader.read(chunks, [1] * len(texts)).numpy()

    def _is_tempered(self) -> bool:
        return self.sampling.temperature not in (0.0, 1.0) or self.sampling.repetition_penalty != 1

    def _tempered(self, texts: list[Text], logits: np.ndarray) -> np.ndarray:
        logits = logits.copy()
        for text, row in zip(texts, logits, strict=True):
            seen = (*self.tasks[text[0]].prompt, *text[1:])
            self.sampling.penalize(row, seen.__iter__)
        is_finite = np.isfinite(logits)
        with np.errstate(over="ignore"):  # at extreme temperatures; who has a probability keeps the least that there is
            logits = (logits - logits.max(axis=1, keepdims=True)) / np.float32(self.sampling.warmth)
            return np.where(is_finite, np.maximum(log_softmax(logits), np.finfo(np.float32).min), -np.inf)

    def _masks(self, texts: list[Text], failures: dict[Text, RowFailure]) -> tuple[np.ndarray, list[bool]]:
        """The masks, and which of them forbid something; notes the texts that have none."""
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
        except Exception:  # one by one, to see whose it is
            needed = [True] * len(texts)
        for row, (text, matcher) in enumerate(zip(texts, matchers, strict=True)):
            try:
                needed[row] = matcher is not None and matcher.fill_mask(masks, row)
            except Exception as error:
                failures[text] = RowFailure(said(error))
        return masks, needed

    def matcher(self, text: Text) -> Matcher | None:
        """Where the text stands; a fork of where its beginning stood, if that was among the last ones."""
        start = self._starts[text[0]]
        if start is None or text in self._matchers:
            return self._matchers.get(text)
        known = self._matchers.get(text[:-1])
        found, rest = (start.fork(), text[1:]) if known is None else (known.fork(), text[-1:])
        for token in rest:
            if not found.advance(token):
                raise RuntimeError(f"after {len(text) - 1} tokens the mask allowed a token that the matcher refused")
        return found

    # ------------------------------------------------------------------ the predicate

    def held(self, pairs: Sequence[tuple[Text, int]]) -> list[bool]:
        """As `holds`; Dead where it cannot be asked."""
        answers = self.holds(pairs)
        for (text, _), answer in zip(pairs, answers, strict=True):
            if isinstance(answer, Exception):
                raise Dead(text, Ending.of(answer))
        return [bool(answer) for answer in answers]

    def holds(self, pairs: Sequence[tuple[Text, int]]) -> list[bool | RowFailure]:
        """Does where= accept the text with the token after it? The questions that are new go to it as one call, if it takes many.

        It sees whole characters only, and is not asked about a text that it has accepted, as it was before its end. What it raised
        stands in place of an answer.
        """
        asked: list[tuple[int, str] | None] = []
        for text, token in pairs:
            number = text[0]
            asked.append(None if self.tasks[number].where is None else self._question(number, self.data(text), token))
        new = [key for key in dict.fromkeys(asked) if key is not None and key not in self._answers]
        with self.timed("sampling_seconds"):
            for number in dict.fromkeys(number for number, _ in new):
                self._ask(number, [text for of, text in new if of == number])
        return [True if key is None else self._answers[key] for key in asked]

    def _question(self, number: int, data: bytes, token: int) -> tuple[int, str] | None:
        """What where= must be asked; None where it has accepted that before. An end is news if the text is empty, or ends within
        a character."""
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

    def data(self, text: Text) -> bytes:
        """What the tokens spell."""
        if len(text) == 1:
            return b""
        if text not in self._data:
            known = self._data.get(text[:-1])
            rest = text[1:] if known is None else text[-1:]
            self._data[text] = (known or b"") + b"".join(map(self.bytes_of, rest))
        return self._data[text]

    def bytes_of(self, token: int) -> bytes:
        return b"" if token in self.vocab.special_ids else self.vocab.token_bytes(token)

    def is_full(self, text: Text) -> bool:
        """Is the text cut here? One that is held to its budget is not: its mask leaves the end alone."""
        return len(text) - 1 >= self.tasks[text[0]].max_tokens and not self.closes[text[0]]

    # ------------------------------------------------------------------ the outcome

    def result(
        self, text: Text, notes: Sequence[Note], *, is_cut: bool = False, ending: Ending | None = None, place: int = 0
    ) -> Result:
        """The answer that the text is: its tokens are replayed into a row of the ordinary loop, which knows how answers end.

        `ending`: how it ends instead; then nothing is asked of its grammar, which may be what has failed.
        """
        if is_cut and ending is None:
            ending = self._refused_whole(text)
        task = replace(self.tasks[text[0]], scores_forced=False, where=None, sampling=self.sampling)
        row = Row(task if ending is None else replace(task, compiled=Compiled()), place, [])
        for token, note in zip(text[1:], notes, strict=True):
            row.prepare()
            row.accept(Choice(token, note.logprob, note.model_logprob), 0.0, note.mass_removed)
        row.prepare()
        if ending is not None:
            row.end(ending)
            row.stats.closes, row.stats.cache_hit = self.closes[text[0]], self.tasks[text[0]].compiled.was_there
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

    def _refused_whole(self, text: Text) -> Ending | None:
        """Why a text that is cut has no value: the predicate has not seen what it ends with, within a character, and refuses it."""
        [answer] = self.holds([(text, self.vocab.stop_ids[0])])
        if isinstance(answer, Exception):
            return Ending.of(answer)
        return None if answer else Ending.unsatisfied(len(text) - 1, self.data(text))

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[part] += perf_counter() - start


@dataclass(frozen=True)
class Note:
    """Of a token that was taken: what Result says of it."""

    logprob: float  # in softmax(masked logits / temperature)
    model_logprob: float
    mass_removed: float


class Notes:
    """What is noted of tokens as they are taken, by the text that they make: a text's notes are those of its beginnings."""

    def __init__(self) -> None:
        self._notes: dict[Text, Note] = {}

    def take(self, steps: Steps, row: int, token: int, log_left: float) -> Text:
        """The text with the token."""
        text = (*steps.texts[row], token)
        if text not in self._notes:
            own, allowed = float(steps.model[row, token]), float(steps.allowed[row, token])
            self._notes[text] = Note(min(allowed - log_left, 0.0), own, steps.mass_removed(row))
        return text

    def of(self, text: Text) -> list[Note]:
        return [self._notes[text[:end]] for end in range(2, len(text) + 1)]


def answers_of_prompt(branches: Branches, notes: Notes, n: int, find: Callable[[], list[Result]]) -> list[Result]:
    """The n answers to one prompt that `find` returns; where it comes to nothing, n that say why."""
    try:
        return find()
    except RowFailure as failure:  # of a function of the caller's that is about no single text
        dead = Dead(branches.beginnings()[0], Ending.of(failure))
    except Dead as found:
        dead = found
    return [branches.result(dead.text, notes.of(dead.text), ending=dead.ending) for _ in range(n)]


# ------------------------------------------------------------------ rows of numbers


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    return shifted


def log_sum(row: np.ndarray) -> float:
    """log(sum of exp) of one row; -inf where nothing is above it."""
    top = float(row.max(initial=-np.inf))
    return top + math.log(float(np.exp(row - row.dtype.type(top)).sum(dtype=np.float64))) if top > -math.inf else top


def bits_of(mask: np.ndarray, width: int) -> np.ndarray:
    """bool [width]: which tokens a row of a mask allows; none beyond it."""
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:width].astype(bool)
    return np.concatenate([bits, np.zeros(width - len(bits), bool)]) if len(bits) < width else bits
