"""One text being decoded: its tokens, what the grammar and the predicate say about it, and what the model has yet to read of it.

Between two choices there may be forced tokens: each is the only one that its mask allows. The model need not be asked for them, so
`prepare` appends them at once, and the model reads them together with the token before them. Its logits come back for each, and
`score` records how probable they were. The text is the same as without (`forced="off"`): a draw from a single token is that
token, whatever its logit.

    prepare()      appends forced tokens, then leaves the mask of the next choice, or finds that the text ends there
    score(...)     receives the logits of a forced token
    choose(...)    draws the next token
    accept(...)    receives the choice
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from grammarlm.decoding.answers.fields import fields_of
from grammarlm.decoding.answers.parts import answer_of
from grammarlm.decoding.failures import Ending, nothing_left
from grammarlm.decoding.logits.sampling import draw, log_probability
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.result import COMPLETE, Result, Stats
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.decoding.stops import Stops

from .row_grammar import RowGrammar
from .unread import Unread

GIVEN_UP = "given up"  # the finish reason of texts that nobody sees
HEALING = 1 << 62  # offset of `position` while the prompt's end is healed


@dataclass(frozen=True)
class DrawnToken:
    """A token that was drawn."""

    token: int
    logprob: float  # under softmax(masked logits / temperature)
    logit: float  # the model's own


class DraftRule(Protocol):
    """By which drafted tokens are drawn (speculative/acceptance)."""

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        """An allowed token, by masked logits and `row.unread.proposed`; None: the row draws by itself."""


class Row:
    """The state of one text of a batch."""

    width: int | None = None  # of the model's logits, once known
    rule: DraftRule | None = None  # with where= there is none: each row draws by itself

    def __init__(self, spec: AnswerSpec, number: int, beginning: list[int]):
        self.spec, self.number, self.sampling = spec, number, spec.settings.sampling
        self.grammar, self.predicate = RowGrammar(spec), spec.predicate
        self.unread = Unread.beginning(beginning)
        seed = self.sampling.seed if self.sampling.temperature else None
        closes = self.grammar.closes
        self.stats = Stats(seed=seed, cache_hit=spec.was_cached, closes=closes, compile_seconds=spec.compile_seconds)
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.model_logprobs: list[float] = []
        self.pieces: list[bytes] = []  # the bytes that each token appends
        self.data = bytearray()  # the bytes of all tokens, including forced ones not scored yet
        self.unscored: deque[int] = deque()  # forced tokens, appended but not scored
        self.ids = list(spec.prompt) or list(
            beginning
        )  # the prompt and all tokens, including forced ones not scored yet
        self.is_prepared = False
        self.has_begun = False  # has the prompt been read?
        self.finish_reason: str | None = None
        self.ends: list[int] = []  # where each token ends in the text, if there are stop strings
        self._pieces_before_stop: list[bytes] | None = None
        self.stopped_by: str | None = None  # of the stop strings
        self.held = 0  # how many of the last tokens may be of a stop string
        self._end: str | None = None  # becomes the finish reason once all forced tokens are scored
        self.error: str | None = None  # why there is no value
        self.memory: dict[str, Any] = {}  # of a masked blend (blending.py)

    def sample(self, number: int) -> Row:
        """An independent copy that continues from here; only its random numbers differ."""
        other = copy(self)
        other.sampling = self.spec.settings.sampling.of_sample(number)
        other.grammar, other.unread = self.grammar.fork(), self.unread.copy()
        other.stats = replace(self.stats, mass_removed=list(self.stats.mass_removed), log=list(self.stats.log))
        other.memory = dict(self.memory)
        other.data, other.unscored, other.ids = self.data[:], self.unscored.copy(), list(self.ids)
        for name in ("tokens", "pieces", "logprobs", "model_logprobs", "ends"):
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
        return HEALING + self.grammar.healed if self.grammar.healed_suffix else len(self.tokens)

    @property
    def length_read(self) -> int:
        """How many ids the model has read of the prompt and the answer."""
        return len(self.ids) - len(self.unread.ids)

    def _seen(self) -> list[int]:
        return [*self.spec.prompt, *self.tokens]

    def prepare(self, is_filled: bool = False, in_draft: bool = False) -> None:
        """Appends forced tokens up to the next choice, whose mask is then filled. `is_filled`: the mask is already.

        `in_draft`: the logits of the next choice are already here, so it is a choice even where only one token is left.
        """
        self.is_prepared = True
        if self.grammar.healed_suffix:
            self.grammar.fill()
            return
        try:
            self._take_forced(is_filled, in_draft)
        except Exception as error:  # raised by the predicate, or a limit of the matcher
            self._end, self.error = "error", Ending.of(error).error
        if self._end and self.unscored:
            self.unread.ids.pop()  # the last token need not be read: the logits before it score it
        self._finish_if_scored()

    def _take_forced(self, is_filled: bool, in_draft: bool) -> None:
        while self._end is None:
            self.grammar.fill(is_filled)
            is_filled = False
            token = self.grammar.only_token
            self._end = self._reason_to_end(token)
            if self._end and not self._may_end():
                self._end, self.error = "unsatisfied", Ending.unsatisfied(self.count, self.data).error
            if self._end or in_draft or token is None or not self._may_be_forced(token):
                break
            self._advance(token)
            self.unscored.append(token)
            self.unread.ids.append(token)

    @property
    def goes_on(self) -> bool:
        """Is there a next choice?"""
        return self.finish_reason is None and self._end is None

    def propose(self, tree: DraftTree) -> None:
        """Draft tokens, to be read after the pending ones."""
        self.unread.tree = tree
        self.stats.draft_tokens += tree.drafted

    def follows_draft(self) -> int | None:
        """The node of the draft that was drawn last, where the next choice, whose logits are already here, is prepared; or None."""
        if self.finish_reason or not self.unread.tree:
            return None
        node = self.unread.follow(self.tokens[-1])
        if node is None:
            return None
        self.stats.accepted_tokens += 1
        self.prepare(in_draft=True)
        return node if self.finish_reason is None else None

    def _may_be_forced(self, token: int) -> bool:
        """No where each token gets its own forward, where the model has no logit for it, or where the predicate refuses it."""
        return (
            self.spec.settings.forced != "off" and self.width is not None and token < self.width and self._holds(token)
        )

    def _reason_to_end(self, only: int | None) -> str | None:
        """Why the text ends here, whatever the model predicts; None: it goes on."""
        is_full = self.count == self.spec.settings.max_tokens
        if is_full and self.stats.closes:
            return "closed"
        if self.grammar.matcher is not None and self.grammar.allows_stops_only(only):
            return self.grammar.reason_to_stop
        return "length" if is_full else None

    def score(self, log_total: float, logits: np.ndarray) -> int:
        """Scores the next forced token from its logits; `log_total` is the log-sum-exp of all logits. Returns the token."""
        token = self.unscored.popleft()
        own = float(logits[token])
        if own == -math.inf:
            raise nothing_left(len(self.tokens), len(logits))
        self._record(token, self.spec.bytes_of(token), 0.0, own - log_total, max(0.0, -math.expm1(own - log_total)))
        self.stats.forced_tokens += 1
        self._finish_if_scored()
        return token

    def _finish_if_scored(self) -> None:
        if self._end and not self.unscored and self.finish_reason is None:
            self.finish_reason = self._end

    # ------------------------------------------------------------------ the choice

    def choose(self, logits: np.ndarray, log_allowed: float | None = None) -> DrawnToken | None:
        """The next token, drawn from masked logits; None where `where=` accepts nothing: the text ends here.

        log_allowed   their log-sum-exp, where it is known

        Where it refuses a token, that token is masked and the next one to arrive in the race is taken: an exact draw from those
        that it accepts.
        """
        if log_allowed == -math.inf:
            raise nothing_left(len(self.tokens), len(logits))
        raw = self.sampling.penalize(logits, self._seen)
        taken = None if self.rule is None else self.rule.choose(self, logits)
        if taken is not None:
            logprob = log_probability(logits, self.sampling, taken)
            return DrawnToken(taken, logprob, float(raw.get(taken, logits[taken])))
        drawn = first = draw(logits, self.sampling, self.position, None if raw else log_allowed)
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
        return DrawnToken(token, logprob, float(raw.get(token, before[token])))

    def _holds(self, token: int) -> bool:
        """Does the predicate accept the text with this token?"""
        if token in self.spec.vocab.stop_ids:
            return self._may_end()
        if not self.grammar.may_follow_healing(token):
            return False
        return self.predicate.where is None or self.predicate.accepts(
            self.predicate.question(self.data, self.grammar.piece_of(token))
        )

    def _may_end(self) -> bool:
        """Does the predicate accept the whole text?"""
        return self.predicate.accepts(self.predicate.question_of_end(self.data))

    def end(self, ending: Ending) -> None:
        """Ends the text here, without a value."""
        self.finish_reason, self.error = ending.finish_reason, ending.error

    def accept(self, choice: DrawnToken, log_total: float, removed: float) -> bool:
        """Appends a drawn token; `log_total` is the log-sum-exp of all logits. True if it is part of the answer."""
        token, is_healing = choice.token, bool(self.grammar.healed_suffix)
        self.is_prepared = False
        if token in self.spec.vocab.stop_ids:
            self.finish_reason = self.grammar.reason_to_stop
            return False
        self.unread.then(token)
        piece = self._advance(token)
        if is_healing and not piece:
            return False
        self._record(token, piece, choice.logprob, choice.logit - log_total, removed)
        return True

    def _advance(self, token: int) -> bytes:
        """Reads a token; the bytes that it appends."""
        piece = self.grammar.piece_of(token)
        if not self.grammar.advance(token):
            raise RuntimeError(
                f"after {len(self.tokens)} tokens the mask allowed the token {token}, which the matcher refused"
            )
        self.data += piece
        self.ids.append(token)
        return piece

    def _record(self, token: int, piece: bytes, logprob: float, own: float, removed: float) -> None:
        self.tokens.append(token)
        self.pieces.append(piece)
        self.logprobs.append(logprob)
        self.model_logprobs.append(own)
        self.stats.mass_removed.append(removed)
        self.stats.tokens += 1
        if self.spec.stops is not None:
            self._look_for_stop(self.spec.stops)

    def _look_for_stop(self, stops: Stops) -> None:
        """Ends the text before a stop string that its last token completes, where it may end there."""
        ends, begin = self.ends, self.ends[-1] if self.ends else 0
        ends.append(begin + len(self.pieces[-1]))
        for _, start, text in stops.found(self.data, begin, ends[-1]):
            kept = bisect_left(ends, start) + 1 if start else 0  # tokens with bytes before it
            cut = ends[kept - 1] - start if kept else 0
            pieces = (
                [*self.pieces[: kept - 1], self.pieces[kept - 1][: len(self.pieces[kept - 1]) - cut]] if kept else []
            )
            if self.grammar.accepts(self.tokens, pieces):
                self.stopped_by, self.finish_reason, self._pieces_before_stop = (
                    text,
                    self.grammar.reason_to_stop,
                    pieces,
                )
                self.held = len(ends) - bisect_right(ends, start)
                self.unscored.clear()
                return
        self.held = len(ends) - bisect_right(ends, ends[-1] - stops.held(self.data, ends[-1]))

    # ------------------------------------------------------------------ the result

    @property
    def answer_pieces(self) -> list[bytes]:
        """What of each token is in the answer."""
        return self.pieces if self._pieces_before_stop is None else self._pieces_before_stop

    def result(self) -> Result:
        assert self.finish_reason
        pieces = self.answer_pieces
        for listed in (self.tokens, self.logprobs, self.model_logprobs, self.stats.mass_removed):
            del listed[len(pieces) :]
        self.stats.tokens = len(pieces)
        spec, is_complete = self.spec, self.finish_reason in COMPLETE
        found = answer_of(spec.form, spec.ways, spec.vocab, self.tokens, pieces, is_complete)
        return Result(
            text=b"".join(pieces).decode(errors="replace"),
            value=found.value,
            tokens=self.tokens,
            logprobs=self.logprobs,
            stats=self.stats,
            finish_reason=self.finish_reason,
            model_logprobs=self.model_logprobs,
            error=self.error or found.error,
            parts=found.parts,
            named=found.named,
            turn=found.turn,
            stopped_by=self.stopped_by,
            fields=fields_of(pieces, found.regions, self.logprobs, self.model_logprobs),
        )
