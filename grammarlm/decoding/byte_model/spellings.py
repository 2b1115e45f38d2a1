"""How the bytes so far may be spelled by tokens, and which byte comes next.

After some bytes a spelling is a **base**, tokens that end within them, and what of the text comes after these: a rest that its next
token begins with. A byte more narrows the tokens that may follow each base; a token that ends with it makes a new base. Bases that
nothing follows are gone. Tokens are sorted by their bytes, so those that begin with a rest are a range, and to read a byte is to
narrow it.

Only pairs of tokens count that the tokenizer itself would write beside each other (filters/canonical.py), so a handful of bases is
open at a time; of all spellings there would be thousands. The model's law after a base is restricted to the tokens that may follow
its last one, and renormalised; the law of texts is the sum over their spellings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.errors import LimitExceeded
from grammarlm.masks.filters.canonical import canonical_of
from grammarlm.vocab.byte_vocabulary import STOP
from grammarlm.vocab.vocabulary import Vocabulary


@dataclass(eq=False)
class Base:
    """Tokens that end within the bytes so far, and the law of the next one once the model has read them."""

    node: TextNode
    allowed: np.ndarray  # bool [tokens], in the order of their bytes: those that may follow
    parent: Base | None  # until it has been read
    log_p: float = 0.0  # of its tokens
    law: np.ndarray | None = None  # float64 [tokens]
    end: float = 0.0  # the probability that the text ends after it


@dataclass(frozen=True)
class Open:
    """A base, and the range of the tokens that may come next: all begin with the rest of the text, and are longer than it."""

    base: Base
    depth: int  # bytes of the rest
    low: int
    high: int


class Spellings:
    """The spellings of texts over one vocabulary."""

    def __init__(self, vocab: Vocabulary, covers: int):
        self._vocab, self._covers, self._canonical = vocab, covers, canonical_of(vocab)
        self._order = np.array(sorted(vocab.text_ids.tolist(), key=vocab.token_bytes), np.int64)
        data = [vocab.token_bytes(token) for token in self._order.tolist()]
        self._lengths = np.array(list(map(len, data)), np.int64)
        self._offsets = np.cumsum(self._lengths) - self._lengths
        self._bytes = np.frombuffer(b"".join(data), np.uint8)
        self._place = {token: at for at, token in enumerate(self._order.tolist())}
        self._bases: WeakValueDictionary[TextNode, Base] = WeakValueDictionary()  # texts of a batch share theirs

    def start(self) -> tuple[Open, ...]:
        return (Open(self._base(TextNode(0), None), 0, 0, len(self._order)),)

    def _base(self, node: TextNode, parent: Base | None) -> Base:
        known = self._bases.get(node)
        if known is None:
            row = self._canonical.row(None if parent is None else node.token)
            allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[self._order].astype(bool)
            known = self._bases[node] = Base(node, allowed, parent)
        return known

    def after(self, opens: Sequence[Open], byte: int) -> tuple[Open, ...]:
        """What is open after one byte more; LimitExceeded where that is more than `covers`."""
        kept, new = [], []
        for one in opens:
            column = self._column(one)
            low, high = (one.low + np.searchsorted(column, [byte, byte + 1])).tolist()
            longer, allowed = low, one.base.allowed
            while longer < high and self._lengths[longer] == one.depth + 1:  # the token ends here
                if allowed[longer]:
                    node = one.base.node.child(int(self._order[longer]))
                    new.append(Open(self._base(node, one.base), 0, 0, len(self._order)))
                longer += 1
            if allowed[longer:high].any():
                kept.append(Open(one.base, one.depth + 1, longer, high))
        found = (*kept, *new)
        if len(found) > self._covers:
            raise LimitExceeded(
                f"covers={self._covers}: after {len(found[-1].base.node.tokens())} tokens {len(found)} spellings of the text are "
                "open; raise it, or read a tokenizer whose tokens are less alike"
            )
        return found

    def _column(self, one: Open) -> np.ndarray:
        """The byte after the rest, of each token of the range: they rise."""
        return self._bytes[self._offsets[one.low : one.high] + one.depth]

    def learn(self, base: Base, logits: np.ndarray) -> None:
        """The model has read it; its parent was read before."""
        if len(self._order) and int(self._order.max()) >= len(logits):
            raise ValueError(
                f"the tokenizer has the id {int(self._order.max())}, and the model's logits are {len(logits)} wide: it is another "
                "model's"
            )
        stops = logits[[stop for stop in self._vocab.stop_ids if stop < len(logits)]].astype(np.float64)
        own = np.where(base.allowed, logits[self._order].astype(np.float64), -np.inf)
        top = max(float(own.max(initial=-np.inf)), float(stops.max(initial=-np.inf)))
        with np.errstate(invalid="ignore"):  # logits that are no distribution make a law that is none: its text fails
            own, stops = np.exp(own - top), np.exp(stops - top)
        total = own.sum() + stops.sum()
        base.law, base.end = own / total, float(stops.sum() / total)
        if base.parent is not None:
            assert base.parent.law is not None
            p = float(base.parent.law[self._place[base.node.token]])
            base.log_p = base.parent.log_p + (-math.inf if p == 0 else math.log(p))
            base.parent = None

    def next_byte(self, opens: Sequence[Open]) -> np.ndarray:
        """float32 [257]: the logarithm of the law of the next byte, the end the last one; -inf everywhere where nothing is open."""
        masses, log_p = np.zeros(STOP + 1), np.array([one.base.log_p for one in opens])
        top = log_p.max(initial=-np.inf)
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # of logits that are no distribution: NaN, or -inf everywhere
            for one, share in zip(opens, np.exp(log_p - top).tolist(), strict=True):
                assert one.base.law is not None
                law = one.base.law[one.low : one.high]
                masses[:STOP] += share * np.bincount(self._column(one), weights=law, minlength=STOP)
                masses[STOP] += 0.0 if one.depth else share * one.base.end
            return np.log(masses / (masses.sum() or 1.0)).astype(np.float32)
