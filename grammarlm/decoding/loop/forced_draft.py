"""Draft tokens: text that a schema forces, read by the model in one forward and verified by its own draws.

Under a closed schema most of the text between two values is forced: after `{"` a whole key, its quote and its colon. Seldom is one
token of it the only one that its mask allows, since many tokenizations spell the same bytes. So it is proposed in the tokens
that a tokenizer would most likely use, with the white space that the text has had so far. One forward reads them all, and at each
position the row draws as it would have drawn anyway: with that position's mask, logits and noise. As long as it draws the proposed
token, the logits of the next position are there already; at the first other token the rest of the draft is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from time import perf_counter

from grammarlm.masks.filters import greedy

from .cost import Cost, DraftPauses
from .row import Row

MOST_BYTES, MOST_TOKENS = 96, 24  # bounds of a draft
FEW = 32  # so many are proposed before the acceptance rate (at least half) decides about more
LINE = re.compile(rb"\n[ \t]*")
COLON = re.compile(rb'(?<!\\)":( ?)')
USUAL = 7.0, 8.0  # draft tokens that are drawn, of so many, before the first one


class ForcedDrafts:
    """Of a batch: as many forced tokens of each row as pay.

    An only row drafts whatever is forced, so that equal calls have equal numbers of forwards. Where several rows share a forward,
    each of them reads as many ids as the one with the most, which costs more than what is forced in some of them saves.
    """

    def __init__(self, cost: Cost):
        self._cost, self._looks = cost, DraftPauses()
        self._drawn, self._tried = USUAL
        # What was drafted: how many tokens, and how many had been accepted before.
        self._last: dict[Row, tuple[int, int]] = {}

    def of(self, rows: Sequence[Row]) -> list[list[int]]:
        if len(rows) == 1:
            return [forced_draft(rows[0])]
        self._count()
        rate = self._drawn / self._tried
        if self._looks.is_pause() or not self._cost.can_pay(len(rows), MOST_TOKENS, rate):
            return [[] for _ in rows]
        start = perf_counter()
        drafts = [forced_draft(row) for row in rows]
        width, saved = self._cost.width([(len(draft), rate) for draft in drafts])
        self._looks.found(saved, perf_counter() - start, self._cost.of(len(rows)))
        drafts = [draft[:width] for draft in drafts]
        self._last = {
            row: (len(draft), row.stats.accepted_tokens) for row, draft in zip(rows, drafts, strict=True) if draft
        }
        return drafts

    def _count(self) -> None:
        """How much of the last drafts was drawn."""
        for row, (length, before) in self._last.items():
            drawn = row.stats.accepted_tokens - before
            self._drawn, self._tried = self._drawn + drawn, self._tried + drawn + (drawn < length)
        self._last = {}


def forced_draft(row: Row) -> list[int]:
    """The most likely next tokens of forced text; none where nothing is forced, or the model has accepted too few so far."""
    stats, spec, grammar = row.stats, row.spec, row.grammar
    if grammar.matcher is None or row.width is None or spec.settings.forced == "off" or grammar.healed_suffix:
        return []
    epoch = grammar.matcher._automaton.epoch
    if not (epoch.writes_json or epoch.has_tags) or grammar.matcher.is_narrowed:
        return []
    if stats.draft_tokens >= FEW and 2 * stats.accepted_tokens < stats.draft_tokens:
        return []
    room = min(MOST_TOKENS, spec.settings.max_tokens - row.count - 1)
    draft = forced_text(row)[: max(room, 0)]
    return draft if all(token < row.width for token in draft) else []


def forced_text(row: Row) -> list[int]:
    """What the grammar forces here, past white space between JSON tokens, in the likeliest tokens."""
    from grammarlm.masks.machines.json.skeleton import may_be_forced, skeleton

    matcher = row.grammar.matcher
    if matcher is None or not row.grammar.is_masked or not may_be_forced(row.grammar.mask[0], row.spec.vocab):
        return []
    if matcher._automaton.epoch.writes_json:
        text = skeleton(matcher, MOST_BYTES, partial(white_space, bytes(row.data)))
    else:
        text = matcher.forced_bytes(MOST_BYTES)
    return (greedy.cut(row.spec.vocab, text) if text else None) or []


def white_space(before: bytes, forced: bytes) -> bytes | None:
    """The most likely white space here: what the text had before in such a place; None: unknown."""
    last, lines, colons = (before + forced)[-1:], LINE.findall(before), COLON.findall(before)
    if last == b"," and lines:
        return lines[-1]
    if last in (b":", b","):
        return colons[-1] if colons else None
    return None if lines else b""
