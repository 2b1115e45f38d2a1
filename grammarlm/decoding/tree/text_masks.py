"""What the grammar says after texts of a tree: a matcher for each text, and the masks of their next tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.failures import RowFailure, message_of
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.masks.batch import fill_masks
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.matcher import Matcher

from .text_node import TextNode

KEPT = 1024  # matchers


class TextMasks:
    """The matchers of the latest texts that were asked about; those of others are replayed from the start."""

    def __init__(self, specs: Sequence[AnswerSpec]):
        started = [spec.matcher() for spec in specs]
        self.closes = [closes for _, closes in started]  # of each prompt: do its matchers keep the budget?
        self._starts = [matcher for matcher, _ in started]
        self._matchers: dict[TextNode, Matcher] = {}  # the latest ones last
        self._size = specs[0].vocab.size

    def after(self, texts: Sequence[TextNode]) -> tuple[np.ndarray, list[bool], dict[TextNode, RowFailure]]:
        """The masks, which of them forbid anything, and the texts whose mask fails."""
        failures: dict[TextNode, RowFailure] = {}
        matchers: list[Matcher | None] = []
        for text in texts:
            try:
                matchers.append(self._matcher(text))
            except Exception as error:
                failures[text] = RowFailure(message_of(error))
                matchers.append(None)
        self._keep(texts, matchers)
        masks = allocate_mask(len(texts), self._size)
        try:
            return masks, fill_masks(matchers, masks), failures
        except Exception:  # one by one, to find out which one fails
            needed = [True] * len(texts)
        for row, (text, matcher) in enumerate(zip(texts, matchers, strict=True)):
            try:
                needed[row] = matcher is not None and matcher.fill_mask(masks, row)
            except Exception as error:
                failures[text] = RowFailure(message_of(error))
        return masks, needed, failures

    def _keep(self, texts: Sequence[TextNode], matchers: Sequence[Matcher | None]) -> None:
        for text, matcher in zip(texts, matchers, strict=True):
            self._matchers.pop(text, None)
            if matcher is not None:
                self._matchers[text] = matcher
        for text in list(self._matchers)[: -max(KEPT, len(texts))]:
            del self._matchers[text]

    def _matcher(self, text: TextNode) -> Matcher | None:
        """The matcher after this text: a fork of its prefix's matcher if that is cached, else replayed from the start."""
        start = self._starts[text.prompt]
        if start is None or text in self._matchers:
            return self._matchers.get(text)
        known = None if text.parent is None else self._matchers.pop(text.parent, None)
        if text.parent is not None and known is not None:
            self._matchers[text.parent] = known
        found, rest = (start.fork(), text.tokens()) if known is None else (known.fork(), [text.token])
        for token in rest:
            if not found.advance(token):
                raise RuntimeError(f"after {text.length} tokens the mask allowed a token that the matcher refused")
        return found
