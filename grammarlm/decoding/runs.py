"""Runs of text that a schema forces, read by the model at once and verified by its own draws.

Under a closed schema most of what stands between two values must come: after `{"` a whole key, its quote and its colon. Seldom
is one token of it the only one that its mask allows, since any cut of the bytes spells them. So the run is proposed in the tokens
that a tokenizer would most likely make of it, with the white space that the text has had so far; one forward reads them all, and
at each place the row draws as it would have drawn without: with that place's mask, logits and noise. As long as it draws what
was proposed, the logits of the next place are there already; at the first other token the rest of the run is forgotten.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from ..grammars.json_schema import JsonSchema
from ..masks import greedy

if TYPE_CHECKING:
    from .row import Row

MOST_BYTES, MOST_TOKENS = 96, 24  # of a run
FEW = 32  # tokens that are proposed before it is asked whether that pays
LINE = re.compile(rb"\n[ \t]*")
COLON = re.compile(rb'(?<!\\)":( ?)')


def run_of(row: Row) -> list[int]:
    """Tokens that come next, most likely; none where nothing is forced, or the model has not gone along so far."""
    stats, task = row.stats, row.task
    if row.matcher is None or row.width is None or not task.scores_forced or row.rest:
        return []
    if not isinstance(task.output.grammar, JsonSchema) or row.matcher.is_narrowed:
        return []
    if stats.draft_tokens >= FEW and 2 * stats.accepted_tokens < stats.draft_tokens:
        return []
    from ..masks.json_schema.skeleton import may_be_forced, skeleton

    if not row.is_masked or not may_be_forced(row.mask[0], task.vocab):
        return []
    text = skeleton(row.matcher, MOST_BYTES, partial(white_space, bytes(row.data)))
    found = greedy.cut(task.vocab, text) if text else None
    room = min(MOST_TOKENS, task.max_tokens - row.count - 1)
    run = (found or [])[: max(room, 0)]
    return run if all(token < row.width for token in run) else []


def white_space(before: bytes, run: bytes) -> bytes | None:
    """The white space that the text most likely has here, as it had before; None: nobody knows."""
    last, lines, colons = (before + run)[-1:], LINE.findall(before), COLON.findall(before)
    if last == b"," and lines:
        return lines[-1]
    if last in (b":", b","):
        return colons[-1] if colons else None
    return None if lines else b""
