"""transformers: a logits processor, for `model.generate(..., logits_processor=[gl.LogitsProcessor(constraint)])`.

generate does not tell a processor where the prompt ends, nor how its rows were reordered: it passes all ids so far and the scores
of the next token, and between two calls beams are permuted, draft tokens are rolled back, another prompt begins. So rows are
tracked by **content**. The ids of the last call are stored, each row with a matcher that has read what comes after the prompt. A
row of this call continues the row of the last one that equals it without its newest token, at any index (beams) and even if it was
longer (drafts of assisted generation). If some row continues none, a new generation has begun, and all ids of this call are
prompts.

    model, tokenizer = gl.load_tiny()
    vocab = gl.Vocabulary.from_tokenizer(tokenizer, size=model.config.vocab_size)
    dates = gl.LogitsProcessor(gl.compile(gl.Regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]"), vocab))
    ids = tokenizer("It was on ", return_tensors="pt").input_ids
    model.generate(ids, logits_processor=[dates], num_beams=3, max_new_tokens=20)

Cost: a step compares the ids with those of the last one, fills one mask row a text, and copies the scores, which generate may keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import transformers

from grammarlm.decoding.fit import warn_of_width
from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.errors import brief, suggesting
from grammarlm.masks.batch import fill_masks
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.messages.unknown_words import check_unknown
from grammarlm.masks.token_facts import pack_ids

UNTOUCHED = -1  # mask row index of scores that are not masked


@dataclass
class ReadText:
    """A text being generated: its matcher, and how many tokens after the prompt it has read, the stop id included."""

    matcher: Matcher
    taken: int = 0

    def fork(self) -> ReadText:
        return ReadText(self.matcher.fork(), self.taken)

    def is_closed(self, length: int) -> bool:
        """Has one of its `length` tokens been refused? Tokens after a stop id are."""
        return self.taken < length

    def read(self, token: int, length: int) -> None:
        """Reads the token at index `length`, after rolling back any tokens read from there on."""
        if self.taken > length:
            self.matcher.rollback(self.taken - length)
            self.taken = length
        if self.taken == length and self.matcher.advance(token):
            self.taken += 1


class LogitsProcessor(transformers.LogitsProcessor):
    """Holds each row of generate() to a constraint: forbidden scores become -inf, the others stay as they are, bit for bit.

    constraint   for all rows; or a list with one for each prompt, None for an unconstrained one. Beams and returned sequences of a
                 prompt are adjacent rows, as generate orders them. JSON schemas without white space and spelling options get
                 "natural" and "plain" here
    max_tokens   each text is complete within so many tokens: the value of max_new_tokens, so that no text is cut
    unknown      keywords and formats of a schema that nobody has defined: "warn" (once a schema) or "refuse"

    It can be reused, with any number of prompts of any length. In one case new prompts look like continued rows: if each, its last
    token aside, equals a row of the last generation, or a prefix of it that includes the old prompt. Then call `reset()` before.

    After a stop id, and after a token that the constraint refuses (beams get such where there are fewer texts than beams), a row
    allows stop ids only. No row is ever -inf everywhere: where other processors have forbidden all that the constraint allows, the
    constraint prevails, and its tokens get equal scores.
    """

    supports_continuous_batching = False  # its rows are requests that come and go, without ids to track them by

    @suggesting("LogitsProcessor")
    def __init__(
        self,
        constraint: Constraint | Sequence[Constraint | None],
        *,
        max_tokens: int | None = None,
        unknown: str = "warn",
    ):
        self._constraints = [each and each.as_generated for each in checked(constraint)]
        self._max_tokens = max_tokens
        known = next((c for c in self._constraints if c is not None), None)
        self._vocab = known.vocab if known else None
        for each in self._constraints:
            if each is not None:
                check_unknown(each, unknown)
                each.matcher(max_tokens)  # a budget that is too small, or unsupported, raises here
        self.reset()

    def __repr__(self) -> str:
        held = ", ".join(brief(one and one.grammar, 60) for one in self._constraints[:3])
        more = f", ... {len(self._constraints)} prompts" if len(self._constraints) > 3 else ""
        return f"LogitsProcessor({held}{more}, max_tokens={self._max_tokens})"

    def reset(self) -> None:
        """The next call begins with new prompts, whatever its ids are."""
        self._prompt = 0  # the length of the prompts, padding included
        self._ids = np.empty((0, 0), np.int64)  # of the last call, [rows, length]
        self._rows: list[ReadText | None] = []
        self._mask = np.empty((0, 0), np.int32)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self._vocab is None:
            return scores
        ids = input_ids.cpu().numpy()
        try:
            self._follow(ids)
            if ids.shape[1] == self._prompt:  # new prompts
                warn_of_width(self._vocab.size, scores.shape[1])
            self._fill(ids.shape[1] - self._prompt)
        except BaseException:  # some rows have advanced, others have not
            self.reset()
            raise
        rows = np.array([UNTOUCHED if row is None else at for at, row in enumerate(self._rows)])
        masked = apply_mask_(scores.clone(), self._mask, rows=rows)
        doubtful = self._doubtful(masked)
        if doubtful:
            silenced = torch.zeros(len(masked), dtype=torch.bool, device=masked.device)
            silenced[doubtful] = is_empty(masked[doubtful])
            if bool(silenced.any()):
                self._revive_(masked, silenced)
        return masked

    # ------------------------------------------------------------------ which row continues which

    def _follow(self, ids: np.ndarray) -> None:
        """Advances the rows to these ids."""
        count, length = ids.shape
        if count % len(self._constraints):
            raise ValueError(
                f"{count} rows cannot be shared out among {len(self._constraints)} constraints; "
                "give one constraint for all rows, or a list with one for each prompt"
            )
        before = self._continued(ids)
        if before is None:
            self._begin(count, length)
        else:
            last, taken = self._rows, set()
            # The first continuation of a row takes over its matcher; others get a fork, made before any has advanced.
            self._rows = []
            for at in before:
                row = last[at]
                self._rows.append(row.fork() if row and at in taken else row)
                taken.add(at)
            for row, token in zip(self._rows, ids[:, -1].tolist(), strict=True):
                if row:
                    row.read(token, length - 1 - self._prompt)
        self._ids = ids.copy()

    def _begin(self, count: int, length: int) -> None:
        """New prompts: all of the ids are theirs."""
        assert self._vocab is not None
        each = count // len(self._constraints)
        self._prompt = length
        constraints = [c for c in self._constraints for _ in range(each)]
        self._rows = [ReadText(c.matcher(self._max_tokens)) if c else None for c in constraints]
        self._mask = allocate_mask(count, self._vocab.size)

    def _continued(self, ids: np.ndarray) -> list[int] | None:
        """For each row the row of the last call, of the same prompt, that it continues; None where some row continues none."""
        count, length = ids.shape
        if count != len(self._rows) or not self._prompt < length <= self._ids.shape[1] + 1:
            return None
        now, then = ids[:, :-1], self._ids[:, : length - 1]
        if np.array_equal(now, then):  # the ordinary step
            return list(range(count))
        each = count // len(self._constraints)
        places: dict[tuple[int, bytes], int] = {}
        for at, row in enumerate(then):
            places.setdefault((at // each, row.tobytes()), at)
        found = [places.get((at // each, row.tobytes())) for at, row in enumerate(now)]
        return None if None in found else found  # type: ignore[return-value]

    # ------------------------------------------------------------------ masks

    def _fill(self, length: int) -> None:
        closed = [row is not None and row.is_closed(length) for row in self._rows]
        fill_masks(
            [row.matcher if row and not is_closed else None for row, is_closed in zip(self._rows, closed, strict=True)],
            self._mask,
        )
        if any(closed):
            assert self._vocab is not None
            self._mask[closed] = pack_ids(self._vocab.stop_ids, self._vocab.words)

    def _doubtful(self, masked: torch.Tensor) -> list[int]:
        """Rows that may be -inf everywhere: those whose first allowed token is -inf. A cheap test of one element a row."""
        held = [at for at, row in enumerate(self._rows) if row is not None]
        places = []
        for at, word in zip(held, (self._mask[held] != 0).argmax(axis=1).tolist(), strict=True):
            bits = int(self._mask[at, word])
            first = 32 * word + max((bits & -bits).bit_length() - 1, 0)
            places.append(at * masked.shape[1] + min(first, masked.shape[1] - 1))
        found = masked.take(torch.tensor(places, dtype=torch.int64, device=masked.device)).tolist()
        return [at for at, score in zip(held, found, strict=True) if score == -math.inf]

    def _revive_(self, masked: torch.Tensor, silenced: torch.Tensor) -> None:
        """Rows that are -inf everywhere: the tokens that their mask allows get equal scores."""
        masked[silenced] = 0.0
        apply_mask_(masked, self._mask, rows=np.where(silenced.cpu(), np.arange(len(masked)), UNTOUCHED))
        if bool((silenced & is_empty(masked)).any()):
            raise ValueError(
                f"each token that the constraint allows lies beyond the {masked.shape[1]} scores; "
                "check that the tokenizer that its vocabulary was made from is this model's"
            )


def is_empty(scores: torch.Tensor) -> torch.Tensor:
    """For each row: is it -inf everywhere?"""
    return scores.amax(dim=1) == -torch.inf  # one pass, without a temporary of comparisons


def checked(constraint: Constraint | Sequence[Constraint | None]) -> list[Constraint | None]:
    """The constraints as a list: one, or one for each prompt."""
    found: list[Constraint | None] = []
    is_list = isinstance(constraint, (list, tuple))
    for each in constraint if isinstance(constraint, (list, tuple)) else [constraint]:
        if not isinstance(each, Constraint) and (each is not None or not is_list):
            raise TypeError(
                f"constraint {'holds' if is_list else 'is'} {type(each).__name__}; it takes what gl.compile(grammar, vocab) "
                "returns, or a list with one (or None) for each prompt"
            )
        found.append(each)
    if not found:
        raise ValueError(
            "constraint is an empty list; it takes a constraint, or a list with one (or None) for each prompt"
        )
    sizes = {each.vocab.size for each in found if each is not None}
    if len(sizes) > 1:
        raise ValueError(
            f"constraint holds vocabularies of {' and '.join(map(str, sorted(sizes)))} tokens; compile all with one, the model's"
        )
    return found
