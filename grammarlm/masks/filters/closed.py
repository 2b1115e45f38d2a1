"""Closed grammars under canonical_only: where the texts are few, each is encoded, and its encoding is the only way to write it.

Rows that compare a token with the one before it (canonical.py) cannot see ahead: of `order` they keep `or`, which the tokenizer
makes of `or` alone, and after it no canonical token is left. So the texts of a grammar are written out where they are few, and
the tokenizer encodes each as a whole; a trie of the encodings says which tokens may follow. A text that the tokenizer never
writes (it composes its characters, or the bytes are no text) keeps one tokenization, that of the longest matches.

    closed = closed_texts(automaton, canonical)      # None: more texts than MOST_TEXTS, or endless
    closed.row([17, 4])                              # the ids that may follow these tokens; None where nothing begins so
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from . import greedy

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.protocol import Epoch

    from .canonical import Canonical

MOST_TEXTS, MOST_BYTES = 4096, 1 << 18  # texts; the bytes of all
LONGEST = 512  # bytes of a text where no state need come again when texts are endless: where there is a stack
Text = tuple["bytes | int", ...]  # bytes, and between them special tokens by their ids


class NotFew(UnsupportedFeature):
    """The texts of a grammar are not written out; the message says why."""


class ClosedTexts:
    """The only tokenization of each text, as a trie."""

    def __init__(self, vocab: Vocabulary, tokenizations: Iterable[Sequence[int]]):
        self.stops, self.words = vocab.stop_ids, vocab.words
        self.count = 0
        self._after: list[dict[int, int]] = [{}]
        self._ends: set[int] = set()
        for tokens in tokenizations:
            node = 0
            for token in tokens:
                node = self._after[node].setdefault(token, len(self._after))
                if node == len(self._after):
                    self._after.append({})
            self._ends.add(node)
            self.count += 1

    def row(self, read: Iterable[int | bytes]) -> np.ndarray | None:
        """int32 [W]: what may follow these tokens, stop ids at the end of a text alone; None where nothing begins so, or
        bytes were read as bytes."""
        node = 0
        for token in read:
            after = None if isinstance(token, bytes) else self._after[node].get(token)
            if after is None:
                return None
            node = after
        return pack_ids([*self._after[node], *(self.stops if node in self._ends else ())], self.words)


def closed_texts(automaton: Automaton, canonical: Canonical) -> ClosedTexts | None:
    """None where the texts are not few, or where one of them has no tokens."""
    try:
        texts = all_texts(automaton)
    except NotFew:
        return None
    parts = sorted({part for text in texts for part in text if isinstance(part, bytes)})
    encoded = dict(zip(parts, _encoded(canonical, parts), strict=True))
    tokenizations = []
    for text in texts:
        pieces = [[part] if isinstance(part, int) else encoded[part] for part in text]
        if None in pieces:
            return None
        tokenizations.append([token for piece in pieces for token in piece or ()])
    return ClosedTexts(canonical.vocab, tokenizations)


def _encoded(canonical: Canonical, texts: list[bytes]) -> list[list[int] | None]:
    """Each text as the tokenizer writes it; the longest matches where it never does, None where these have no tokens either."""
    written = [data.decode(errors="replace") for data in texts]
    found = canonical.tokenizer.encode_batch_fast(written, add_special_tokens=False)
    return [
        each.ids if _spells(canonical, each.ids, data) else greedy.cut(canonical.vocab, data)
        for each, data in zip(found, texts, strict=True)
    ]


def _spells(canonical: Canonical, ids: list[int], data: bytes) -> bool:
    if not all(i < len(canonical.is_text) and canonical.is_text[i] for i in ids):
        return False
    return b"".join(canonical.data[i] for i in ids) == data


def texts_of(automaton: Automaton) -> list[bytes]:
    """Every text of a grammar without special tokens, sorted; raises NotFew."""
    with automaton.lock:
        automaton.program.clock.begin_call()
        texts = all_texts(automaton)
    if any(isinstance(part, int) for text in texts for part in text):
        raise NotFew("its texts have special tokens, which no bytes spell")
    return sorted(b"".join(part for part in text if isinstance(part, bytes)) for text in texts)


def all_texts(automaton: Automaton) -> list[Text]:
    """Every text of a grammar; raises NotFew.

    The states belong to an epoch of their own, which ends with this call. From each of them a text can be completed.
    """
    try:
        with automaton.lock:
            epoch = automaton.make_epoch(automaton.program)
            return _walk(epoch, epoch.state_of(automaton.program.start))
    except (LimitExceeded, RecursionError) as error:
        raise NotFew(f"its texts are not written out within the limits: {error}") from None


def _walk(epoch: Epoch, start: int) -> list[Text]:
    """Counts before it writes: each state is asked once, and a state on the way to itself means that texts are endless."""
    nexts: dict[int, list[tuple[bytes | int, int]]] = {}
    counts: dict[int, tuple[int, int]] = {}  # of the states that are done: texts from here, and their bytes
    path = [start]
    while path:
        state = path[-1]
        if state not in nexts:
            nexts[state] = next_states(epoch, state)
        done = [counts[after] for _, after in nexts[state] if after in counts]
        texts = sum(count for count, _ in done)
        size = texts + sum(more for _, more in done)
        if texts + epoch.accepting[state] > MOST_TEXTS:
            raise NotFew(f"its texts are more than {MOST_TEXTS:,}")
        if size > MOST_BYTES:
            raise NotFew(f"its texts have more than {MOST_BYTES:,} bytes together")
        ahead = next((after for _, after in nexts[state] if after not in counts), None)
        if ahead is None:
            counts[state] = texts + epoch.accepting[state], size
            path.pop()
            continue
        if ahead in nexts:
            raise NotFew("its texts are endless")
        if len(path) > LONGEST and not epoch.has_table:
            raise NotFew(f"its texts are endless, or longer than {LONGEST} bytes")
        path.append(ahead)
    found: list[Text] = []
    waiting: list[tuple[int, Text]] = [(start, ())]
    while waiting:
        state, text = waiting.pop()
        if epoch.accepting[state]:
            found.append(text)
        waiting += [(after, _longer(text, part)) for part, after in nexts[state]]
    return found


def _longer(text: Text, part: bytes | int) -> Text:
    if text and isinstance(part, bytes) and isinstance(text[-1], bytes):
        return (*text[:-1], text[-1] + part)
    return (*text, part)


def next_states(epoch: Epoch, state: int) -> list[tuple[bytes | int, int]]:
    """Each byte and each special token that may come, and the state after it."""
    bytes_ = [bytes([byte]) for byte in np.flatnonzero(epoch.next_bytes(state)).tolist()]
    found: list[tuple[bytes | int, int]] = [(byte, epoch.after_bytes(state, byte)) for byte in bytes_]
    found += [(token, epoch.after_token(state, token)) for token in epoch.special_tokens(state)]
    return [(part, after) for part, after in found if after]
