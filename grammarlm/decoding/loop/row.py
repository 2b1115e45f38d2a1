"""One text being decoded: its matcher, its tokens, and the ids that the model has yet to read.

Between two choices there may be forced tokens: each is the only one that its mask allows. The model need not be asked for them, so
`prepare` appends them at once, and the model reads them together with the token before them. Its logits come back for each, and
`score` records how probable they were. The text is the same as without (`scores_forced=False`): a draw from a single token is that
token, whatever its logit.

    prepare()      appends forced tokens, then leaves the mask of the next choice, or finds that the text ends there
    score(...)     receives the logits of a forced token
    accept(...)    receives the choice
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from grammarlm.decoding.failures import Ending, answer_of, nothing_left
from grammarlm.decoding.logits.sampling import draw
from grammarlm.decoding.result import COMPLETE, Result, Stats
from grammarlm.decoding.task import Task
from grammarlm.masks.mask_array import allocate_mask, only_bit
from grammarlm.masks.matcher import Matcher

from . import healing

HEALING = 1 << 62  # offset of `position` while the prompt's end is healed


@dataclass(frozen=True)
class Choice:
    """A token that was drawn."""

    token: int
    logprob: float  # under softmax(masked logits / temperature)
    logit: float  # the model's own


class Row:
    """The state of one text of a batch."""

    width: int | None = None  # of the model's logits, once known

    def __init__(self, task: Task, number: int, beginning: list[int]):
        self.task, self.number, self.sampling = task, number, task.sampling
        self.matcher, closes = task.matcher()
        seed = task.sampling.seed if task.sampling.temperature else None
        hit = task.compiled.was_there
        self.stats = Stats(seed=seed, cache_hit=hit, closes=closes, compile_seconds=task.compile_seconds)
        self.mask = allocate_mask(1, task.vocab.size)
        self.is_masked = self.matcher is not None  # does the mask forbid anything?
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.model_logprobs: list[float] = []
        self.pieces: list[bytes] = []  # the bytes that each token appends
        self.rest = task.rest
        self._healed = 0  # how many tokens have been written while healing the prompt's end
        self.data = bytearray()  # the bytes of all tokens, including forced ones not scored yet
        self.pending = list(beginning)  # ids that the model has not read yet
        self.skip = len(beginning) - 1  # the logits of the first `skip` of them are not needed
        self.unscored: deque[int] = deque()  # forced tokens, appended but not scored
        self.run: list[int] = []  # draft tokens, proposed for the next choices (runs.py)
        self.misread = 0  # how many ids the model has read that are not in the text: to be rolled back
        self.is_prepared = False
        self.finish_reason: str | None = None
        self._end: str | None = None  # becomes the finish reason once all forced tokens are scored
        self.error: str | None = None  # why there is no value
        self._is_narrowed = False  # has the token budget removed tokens from a mask?
        self._where = task.where

    def sample(self, number: int) -> Row:
        """An independent copy that continues from here; only its random numbers differ."""
        other: Row = object.__new__(Row)
        other.__dict__.update(self.__dict__)
        other.sampling = self.sampling.of_sample(number)
        other.matcher = self.matcher and self.matcher.fork()
        other.stats = replace(self.stats, mass_removed=list(self.stats.mass_removed))
        other.mask, other.data, other.unscored = self.mask.copy(), self.data[:], self.unscored.copy()
        for name in ("tokens", "pieces", "logprobs", "model_logprobs", "pending"):
            setattr(other, name, list(getattr(self, name)))
        return other

    # ------------------------------------------------------------------ up to the next choice

    @property
    def count(self) -> int:
        """Number of all tokens, scored or not."""
        return len(self.tokens) + len(self.unscored)

    @property
    def position(self) -> int:
        """The position that the random numbers of the next choice depend on, with the seed and the sample's number."""
        return HEALING + self._healed if self.rest else len(self.tokens)

    def _seen(self) -> list[int]:
        return [*self.task.prompt, *self.tokens]

    def prepare(self, is_filled: bool = False, in_run: bool = False) -> None:
        """Appends forced tokens up to the next choice, whose mask is then in `mask`. `is_filled`: the mask is already filled.

        `in_run`: the logits of the next choice are already here, so it is a choice even where only one token is left.
        """
        self.is_prepared = True
        if self.rest:
            self.mask[0], self.is_masked = healing.row_of(self.task.vocab, self.task.constraint, self.rest), True
            return
        self.is_masked = self.is_masked and self.matcher is not None  # the mask may still be that of healing
        try:
            self._take_forced(is_filled, in_run)
        except Exception as error:  # raised by the predicate, or a limit of the matcher
            self._end, self.error = "error", Ending.of(error).error
        if self._end and self.unscored:
            self.pending.pop()  # the last token need not be read: the logits before it score it
        self._finish_if_scored()

    def _take_forced(self, is_filled: bool, in_run: bool) -> None:
        while self._end is None:
            if not is_filled and self.matcher is not None:
                self.is_masked = self.matcher.fill_mask(self.mask)
            is_filled = False
            self._is_narrowed = self._is_narrowed or (self.matcher is not None and self.matcher.is_narrowed)
            token = only_bit(self.mask[0]) if self.is_masked else None
            self._end = self._reason_to_end(token)
            if self._end and not self._may_end():
                self._end, self.error = "unsatisfied", Ending.unsatisfied(self.count, self.data).error
            if self._end or in_run or token is None or not self._may_be_forced(token):
                break
            self._advance(token, self.bytes_of(token))
            self.unscored.append(token)
            self.pending.append(token)

    @property
    def goes_on(self) -> bool:
        """Is there a next choice?"""
        return self.finish_reason is None and self._end is None

    def propose(self, run: list[int]) -> None:
        """Draft tokens (runs.py), to be read with the pending ones."""
        self.run = run
        self.stats.draft_tokens += len(run)

    def follows_run(self) -> bool:
        """Was the last choice the proposed token, and is the next one prepared, whose logits are already here?"""
        if self.finish_reason or not self.run:
            return False
        proposed, *self.run = self.run
        if self.tokens[-1] != proposed:
            self.misread, self.run = 1 + len(self.run), []
            return False
        self.stats.accepted_tokens += 1
        self.pending = []
        self.prepare(in_run=True)
        return self.finish_reason is None

    def _may_be_forced(self, token: int) -> bool:
        """No where each token gets its own forward, where the model has no logit for it, or where the predicate refuses it."""
        return self.task.scores_forced and self.width is not None and token < self.width and self._holds(token)

    def _reason_to_end(self, only: int | None) -> str | None:
        """Why the text ends here, whatever the model predicts; None: it goes on."""
        is_full = self.count == self.task.max_tokens
        if is_full and self.stats.closes:
            return "closed"
        if self.matcher is not None and self._only_stops(only):
            return "closed" if self._is_narrowed else "stop"
        return "length" if is_full else None

    def _only_stops(self, only: int | None) -> bool:
        """Does the mask allow stop ids only?"""
        if only is not None or len(self.task.vocab.stop_ids) == 1:
            return only in self.task.vocab.stop_ids
        return self.is_masked and np.array_equal(self.mask[0], self.task.stop_row)

    def score(self, before: float, logits: np.ndarray) -> int:
        """Scores the next forced token from its logits; `before` is the log-sum-exp of all logits. Returns the token."""
        token = self.unscored.popleft()
        own = float(logits[token])
        if own == -math.inf:
            raise nothing_left(len(self.tokens), len(logits))
        self._note(token, self.bytes_of(token), 0.0, own - before, max(0.0, -math.expm1(own - before)))
        self.stats.forced_tokens += 1
        self._finish_if_scored()
        return token

    def _finish_if_scored(self) -> None:
        if self._end and not self.unscored:
            self.finish_reason = self._end

    # ------------------------------------------------------------------ the choice

    def choose(self, logits: np.ndarray, mass: float | None = None) -> Choice | None:
        """The next token, drawn from masked logits of this log mass; None where `where=` accepts nothing: the text ends here.

        Where it refuses a token, that token is masked and the next one to arrive in the race is taken: an exact draw from those
        that it accepts.
        """
        if mass == -math.inf:
            raise nothing_left(len(self.tokens), len(logits))
        raw = self.sampling.penalize(logits, self._seen)
        drawn = first = draw(logits, self.sampling, self.position, None if raw else mass)
        before, scale = logits, self.sampling.warmth
        while not self._holds(drawn[0]):
            if before is logits:
                before = logits.copy()
            logits[drawn[0]] = -math.inf
            if not np.isfinite(logits).any():
                self.end(Ending.unsatisfied(len(self.tokens), self.data))
                return None
            drawn = draw(logits, self.sampling, self.position)
        token, logprob = drawn[0], first[1] + float(before[drawn[0]] - before[first[0]]) / scale
        return Choice(token, logprob, float(raw.get(token, before[token])))

    def _holds(self, token: int) -> bool:
        """Does the predicate accept the text with this token? It sees whole characters only."""
        if token in self.task.vocab.stop_ids:
            return self._may_end()
        if not self.rest and self._where is None:
            return True
        piece = self._piece(token)
        if self.rest and piece and self.task.constraint is not None and self._matcher_behind(piece) is None:
            return False
        if self._where is None:
            return True
        before, after = readable(self.data), readable(self.data + piece)
        return after == before or bool(answer_of("where", self._where, after))

    def _may_end(self) -> bool:
        """Does the predicate accept the whole text? It has not seen it yet where the text is empty, or ends within a character."""
        if self._where is None:
            return True
        text = self.data.decode(errors="replace")
        is_known = text != "" and text == readable(self.data)
        return is_known or bool(answer_of("where", self._where, text))

    def _piece(self, token: int) -> bytes:
        """The bytes that a token appends to the text: of one that spells the end of the prompt again, only those after that end."""
        return self.bytes_of(token)[len(self.rest) :]

    def _matcher_behind(self, piece: bytes) -> Matcher | None:
        assert self.task.constraint is not None
        left = self.task.max_tokens - 1 if self.stats.closes else None
        return healing.matcher_behind(self.task.constraint, piece, left)

    def end(self, ending: Ending) -> None:
        """Ends the text here, without a value."""
        self.finish_reason, self.error = ending.finish_reason, ending.error

    def accept(self, choice: Choice, before: float, removed: float) -> bool:
        """Appends a drawn token; `before` is the log-sum-exp of all logits. True if it is part of the answer."""
        token = choice.token
        self.is_prepared = False
        if token in self.task.vocab.stop_ids:
            self.finish_reason = "closed" if self._is_narrowed else "stop"
            return False
        self.pending, self.skip = [token], 0
        if self.rest:
            piece = self._piece(token)
            self.rest, self._healed = self.rest[len(self.bytes_of(token)) :], self._healed + 1
            if not piece:
                return False
            if self.task.constraint is not None:
                self.matcher = self._matcher_behind(piece)
            self.data += piece
        else:
            piece = self.bytes_of(token)
            self._advance(token, piece)
        self._note(token, piece, choice.logprob, choice.logit - before, removed)
        return True

    def _advance(self, token: int, piece: bytes) -> None:
        if self.matcher is not None and not self.matcher.advance(token):
            raise RuntimeError(f"{self.place()} the mask allowed the token {token}, which the matcher refused")
        self.data += piece

    def _note(self, token: int, piece: bytes, logprob: float, own: float, removed: float) -> None:
        self.tokens.append(token)
        self.pieces.append(piece)
        self.logprobs.append(logprob)
        self.model_logprobs.append(own)
        self.stats.mass_removed.append(removed)
        self.stats.tokens += 1

    def bytes_of(self, token: int) -> bytes:
        """The bytes that a token appends: none for special tokens, which occur only where there is no grammar."""
        vocab = self.task.vocab
        return b"" if token in vocab.special_ids else vocab.token_bytes(token)

    def place(self) -> str:
        return f"after {len(self.tokens)} tokens"

    # ------------------------------------------------------------------ the result

    def result(self) -> Result:
        assert self.finish_reason
        data = b"".join(self.pieces)
        text = data.decode(errors="replace")
        value, error = None, self.error
        if self.finish_reason in COMPLETE:
            value, error = self.task.output.value(text if text.encode() == data else data, self.tokens)
        return Result(
            text=text,
            value=value,
            tokens=self.tokens,
            logprobs=self.logprobs,
            stats=self.stats,
            finish_reason=self.finish_reason,
            model_logprobs=self.model_logprobs,
            error=error,
        )


def readable(data: bytes | bytearray) -> str:
    """The text up to its last whole character; invalid UTF-8 before that is U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        end = error.start if error.end == len(data) and error.reason == "unexpected end of data" else len(data)
        return data[:end].decode(errors="replace")
