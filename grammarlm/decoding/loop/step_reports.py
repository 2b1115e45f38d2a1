"""Decoding, step_reports: the distribution that each token was chosen from, before and after masking.

    decoding = start(model, prompt, tokenizer=tokenizer, grammar=grammar)      # in generate.py
    for step in step_reports(decoding, grammar):
        step.chosen.name, step.mass_removed, step.others, step.forbidden, step.path
    result = decoding.result()

Probabilities are at temperature 1: the model's own (`before`), and those after masking (`after`). Other sampling settings are not
included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.answers.events import path_of
from grammarlm.decoding.answers.json_events import JsonEvents
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.vocab.names import token_name
from grammarlm.vocab.vocabulary import Vocabulary

from .loop import Decoding, Step

SHOWN_FROM = 0.0005  # the least probability of an alternative that is shown
MOST = 8


@dataclass(frozen=True)
class TokenReport:
    """A token that was possible, or that the model wanted."""

    token: int
    name: str
    before: float
    after: float  # 0 where the constraint forbids it


@dataclass(frozen=True)
class StepReport:
    """One step."""

    data: bytes
    chosen: TokenReport
    others: tuple[TokenReport, ...]  # the most probable of the other allowed tokens
    forbidden: tuple[TokenReport, ...]  # the most probable of the forbidden tokens
    allowed: int  # number of allowed tokens
    mass_removed: float
    is_forced: bool
    path: tuple[str | int, ...] | None  # JSON: the path of the value in which the token begins; else None
    draft: DraftTree | None = None  # what was drafted, for the first token that is drawn of it or instead of it


def step_reports(decoding: Decoding, grammar: Grammar | None) -> Iterator[StepReport]:
    """The steps of one text under this grammar."""
    decoding.keeps_model_logits = True
    reader = JsonEvents() if isinstance(grammar, JsonSchema) else None
    for step in decoding:
        yield report_of(step, decoding.vocab, None if reader is None else path_of(reader.linked_path))
        if reader is not None:
            reader.feed(step.data)


def report_of(step: Step, vocab: Vocabulary, path: tuple[str | int, ...] | None) -> StepReport:
    assert step.model_logits is not None
    before, after = softmax(step.model_logits), softmax(step.logits)
    is_allowed = step.logits > -np.inf

    def candidates(of: np.ndarray) -> tuple[TokenReport, ...]:
        best = np.argsort(-of, kind="stable")[: MOST + 1].tolist()
        return tuple(candidate(t) for t in best if of[t] >= SHOWN_FROM and t != step.token)[:MOST]

    def candidate(token: int) -> TokenReport:
        return TokenReport(token, token_name(vocab, token), float(before[token]), float(after[token]))

    return StepReport(
        data=step.data,
        chosen=candidate(step.token),
        others=candidates(after),
        forbidden=candidates(np.where(is_allowed, 0.0, before)),
        allowed=int(is_allowed.sum()),
        mass_removed=step.mass_removed,
        is_forced=step.is_forced,
        path=path,
        draft=step.draft,
    )


def softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits.astype(np.float64) - logits.max())
    return p / p.sum()
