"""Canonical tokens, as the tokenizer itself would produce them: canonical_only=True.

Many token sequences spell one text; a tokenizer produces one of them. After the token a the token b is **canonical**
iff the tokenizer encodes their bytes as [a, b]. That forbids most other sequences, though not all: only pairs of tokens
are checked, and none ahead. Where a grammar has few texts these are encoded instead (closed.py).

There is one row for each last token, in an LRU cache. A row needs no encoding of 128,000 pairs: the pre-tokenizer is
asked once for each pair of text shapes (vocab/tokenizers/shapes.py), and which tokens BPE would merge is computed from the merges
(kernels/cpu/tokens/merges.py). Only pairs that may be affected by something else, an added token's text or the two halves of a
character, are encoded one by one.

Bytes that are not UTF-8 text cannot be encoded: there the merges alone decide.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from grammarlm.kernels import entries
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.vocab.tokenizers.bpe import SPACE, read_bpe, tokenizer_of
from grammarlm.vocab.tokenizers.byte_level import byte_level_text
from grammarlm.vocab.tokenizers.shapes import Shapes, ends_with_apostrophe
from grammarlm.vocab.vocabulary import Vocabulary

UNCUT, AT_BORDER, ELSEWHERE = 0, 1, 2  # where the pre-tokenizer cuts a pair of tokens
MOST_BYTES = 64 << 20  # of cached rows


class Canonical:
    """The canonical tokens of a vocabulary, by the token before them."""

    def __init__(self, vocab: Vocabulary):
        """TokenizerError where the vocabulary's tokenizer is not a BPE whose merges are available."""
        self.vocab, self.bpe = vocab, read_bpe(vocab)
        self.tokenizer: Any = tokenizer_of(self.bpe)
        self.lock = shared_lock(PROGRAM)
        self._rows: OrderedDict[int | None, np.ndarray] = OrderedDict()
        self._cuts: OrderedDict[str, np.ndarray] = OrderedDict()
        count = len(vocab.offsets) - 1
        self.data = [vocab.token_bytes(token) for token in range(count)]
        self.texts = [_text(data) for data in self.data]
        self.is_text = np.zeros(count, bool)
        self.is_text[vocab.text_ids] = True
        self._read_shapes()
        self._read_added()
        self._encode_each()
        self._order = sorted((data, token) for token, data in enumerate(self.data) if self.is_text[token])

    # ------------------------------------------------------------------ facts of single tokens

    def _read_shapes(self) -> None:
        self.shapes = Shapes(self.bpe.cuts)
        self._shaped = _Shaped(self, self.shapes.of)
        self.shape_of, self._samples = self._shaped.shape_of, self._shaped.samples
        # A character that Unicode normalisation may compose with the one before it is checked by itself.
        composing = [
            token
            for token, text in enumerate(self.texts)
            if text and (unicodedata.category(text[0])[0] == "M" or "\u1160" <= text[0] <= "\u11ff")
        ]
        self._composing = np.array(composing if self.bpe.composes else [], np.int64)

    def _read_added(self) -> None:
        """Tokens whose text is that of an added token, or may contain one; the prefixes of such texts."""
        spelled = {*self.bpe.added, *(a.replace(SPACE, " ") for a in self.bpe.added if a not in self.bpe.raw)}
        self._added = sorted(spelled)
        self._added_ends = {a[:k] for a in spelled for k in range(1, len(a))}
        lengths = sorted({len(a) for a in spelled})
        firsts = {a[0] for a in spelled}
        self.is_added = np.zeros(len(self.texts), bool)
        self.is_whole = np.zeros(len(self.texts), bool)  # exactly an added token's text
        for token, text in enumerate(self.texts):
            if text and not firsts.isdisjoint(text):
                places = [i for i, c in enumerate(text) if c in firsts]
                self.is_added[token] = any(text[i : i + n] in spelled for i in places for n in lengths)
                self.is_whole[token] = text in self.bpe.raw and self.bpe.added[text] == token

    def _encode_each(self) -> None:
        """Merges the symbols of each token; records what each begins and ends with at each merge."""
        bpe, count = self.bpe, len(self.data)
        symbols = [self._symbols(token) for token in range(count)]
        self._offsets = np.cumsum([0, *map(len, symbols)])
        flat = np.fromiter((s for each in symbols for s in each), np.int32, int(self._offsets[-1]))
        left, self._right = np.zeros((len(flat), 4), np.int32), np.zeros((len(flat), 4), np.int32)
        single = np.zeros((count, 3), np.int32)
        self._merge_address = bpe.merges.ctypes.data
        entries.merge_each(
            self._merge_address,
            bpe.merges.shape[1],
            flat.ctypes.data,
            self._offsets.ctypes.data,
            count,
            left.ctypes.data,
            self._right.ctypes.data,
            single.ctypes.data,
        )
        self._ends = single[:, 1]
        composed = np.array([text is None or unicodedata.is_normalized("NFC", text) for text in self.texts], bool)
        # Do the merges alone make the token of its bytes?
        self.is_merged = (single[:, 2] == np.arange(count)) & (composed | (not bpe.composes))
        self.is_piece = self.is_merged | (bpe.keeps_whole & self.is_text)
        self._pieces = max(count, max(bpe.ids.values()) + 1)
        owners = np.repeat(np.arange(count), single[:, 0])
        within = np.arange(len(owners)) - np.repeat(np.cumsum(single[:, 0]) - single[:, 0], single[:, 0])
        places = self._offsets[owners] + within
        order = np.argsort(left[places, 0], kind="stable")
        beginnings = left[places]
        self._starts = np.searchsorted(beginnings[order, 0], np.arange(self._pieces + 1))
        beginnings[:, 0] = owners
        self._beginnings = beginnings[order]

    def _symbols(self, token: int) -> list[int]:
        ids, data, text = self.bpe.ids, self.data[token], self.texts[token]
        if not self.is_text[token]:
            return []
        if self.bpe.byte_level:
            return [ids.get(character, -1) for character in byte_level_text(data)]
        if text is None:
            return [ids.get(f"<0x{byte:02X}>", -1) for byte in data]
        found: list[int] = []
        for character in self.written(text):
            known = ids.get(character)
            found += [known] if known is not None else [ids.get(f"<0x{b:02X}>", -1) for b in character.encode()]
        return found

    def written(self, text: str) -> str:
        return text.replace(" ", SPACE) if self.bpe.spaces_as_mark else text

    # ------------------------------------------------------------------ rows

    def row(self, last: int | None) -> np.ndarray:
        """int32 [W], read only: the canonical tokens after the token `last` (None: at the start of a text), and all ids
        that are not text.

        After a special token a text begins.
        """
        if last is not None and not self.is_text[last]:
            last = None
        with self.lock:
            known = self._rows.get(last)
            if known is None:
                bits = np.zeros(self.vocab.words * 32, np.uint8)
                kept = self._at_start() if last is None else self._after(last)
                bits[: len(kept)] = kept & self.is_text
                bits[[*self.vocab.stop_ids, *self.vocab.special_ids]] = 1
                known = np.packbits(bits, bitorder="little").view(np.int32)
                known.setflags(write=False)
                self._rows[last] = known
                if len(self._rows) * known.nbytes > MOST_BYTES:
                    self._rows.popitem(last=False)
            else:
                self._rows.move_to_end(last)
            return known

    def _at_start(self) -> np.ndarray:
        whole = np.array([len(self._pieces_of(sample)) == 1 for sample in self._samples], bool)
        kept = self.is_piece & ((self.shape_of < 0) | whole[self.shape_of])
        exceptions = np.flatnonzero(self.is_added & self.is_text)
        self._encode(None, exceptions, kept)
        return kept

    def _after(self, last: int) -> np.ndarray:
        text = self.texts[last]
        alone = self._bits(self.row(None))
        if self.is_whole[last]:
            kept = alone.copy()  # the texts before and after an added token are encoded separately
        else:
            kept = self._by_merges(last)
            if text is not None:
                cut = self._cut_after(text)
                apart = self.is_piece & bool(self.is_piece[last])
                kept = np.where(self.shape_of < 0, kept, ((cut == UNCUT) & kept) | ((cut == AT_BORDER) & apart))
                kept[self.is_whole] = alone[last]
        self._encode(last, self._exceptions(last), kept)
        return kept

    def _bits(self, row: np.ndarray) -> np.ndarray:
        return np.unpackbits(row.view(np.uint8), bitorder="little")[: len(self.texts)].astype(bool)

    def _by_merges(self, last: int) -> np.ndarray:
        """The tokens that are not merged with this one where the pre-tokenizer does not cut their text."""
        joined = np.zeros(self._pieces, np.uint8)
        ends = np.ascontiguousarray(self._right[self._offsets[last] :][: self._ends[last]])
        entries.mark_joined(
            self._merge_address,
            self.bpe.merges.shape[1],
            ends.ctypes.data,
            len(ends),
            self._starts.ctypes.data,
            self._pieces,
            self._beginnings.ctypes.data,
            joined.ctypes.data,
        )
        kept = ~joined[: len(self.texts)].astype(bool) & self.is_merged & bool(self.is_merged[last])
        if self.bpe.keeps_whole:
            kept[self._that_make_a_token_with(last)] = False
        return kept

    def _cut_after(self, text: str) -> np.ndarray:
        """Where the pre-tokenizer cuts this text followed by each token."""
        if ends_with_apostrophe(text):
            return self._cut(text, self._shaped_exactly)[self._shaped_exactly.shape_of]
        shape = self.shapes.of(self.written(text))
        known = self._cuts.get(shape)
        if known is None:
            known = self._cuts[shape] = self._cut(text, self._shaped)
            if len(self._cuts) * known.nbytes > MOST_BYTES:
                self._cuts.popitem(last=False)
        return known[self.shape_of]

    @cached_property
    def _shaped_exactly(self) -> _Shaped:
        return _Shaped(self, self.shapes.after_apostrophe)

    def _cut(self, text: str, shaped: _Shaped) -> np.ndarray:
        """Where the pre-tokenizer cuts this text followed by a sample of each shape."""
        length, found = len(self.written(text)), []
        for sample in shaped.samples:
            pieces = self._pieces_of(text + sample)
            at_border = len(pieces) == 2 and pieces[0] == length
            found.append(UNCUT if len(pieces) == 1 else AT_BORDER if at_border else ELSEWHERE)
        return np.array(found, np.uint8)

    def _pieces_of(self, text: str) -> list[int]:
        """The lengths of the pieces into which the pre-tokenizer cuts a text."""
        if self.bpe.cuts is None:
            return [len(text)]
        written = self.written(text)
        return [end - start for _, (start, end) in self.tokenizer.pre_tokenizer.pre_tokenize_str(written)]

    def _that_make_a_token_with(self, last: int) -> list[int]:
        """Tokens whose bytes, appended to this one's, are a single token."""
        data = self.data[last]
        found = []
        for whole, _ in self._beginning_with(data):
            rest = whole[len(data) :]
            found += [token for each, token in self._beginning_with(rest, exactly=True)] if rest else []
        return found

    def _beginning_with(self, data: bytes, exactly: bool = False) -> list[tuple[bytes, int]]:
        first = bisect_left(self._order, (data, -1))
        end = data + b"\x00" if exactly else data + b"\xff" * 256
        return self._order[first : bisect_left(self._order, (end, -1))]

    def _exceptions(self, last: int) -> np.ndarray:
        """The tokens that must be encoded together with this one to decide."""
        data, text = self.data[last], self.texts[last]
        if text is None:  # it may be the first half of a character that another token completes
            return np.array(
                [t for t in np.flatnonzero(self.shape_of < 0).tolist() if self._completes(data, t)], np.int64
            )
        if self.is_added[last] and not self.is_whole[last]:
            return np.flatnonzero(self.shape_of >= 0)
        ends = [text[-k:] for k in range(1, len(text) + 1) if text[-k:] in self._added_ends]
        rests = {a[len(end) :] for end in ends for a in self._added if a.startswith(end) and a != end}
        crossing = [token for rest in rests for _, token in self._beginning_with(rest.encode())]
        added = np.flatnonzero(self.is_added & ~self.is_whole & (self.shape_of >= 0))
        found = np.unique(np.concatenate([added, np.array(crossing, np.int64), self._composing]))
        return found[self.shape_of[found] >= 0]

    def _completes(self, data: bytes, token: int) -> bool:
        return bool(self.is_text[token]) and _text(data + self.data[token]) is not None

    def _encode(self, last: int | None, tokens: np.ndarray, kept: np.ndarray) -> None:
        """Decides tokens by the tokenizer itself."""
        data, before = (b"", []) if last is None else (self.data[last], [last])
        pairs = [(data + self.data[token]).decode() for token in tokens.tolist()]
        encoded = self.tokenizer.encode_batch_fast(pairs, add_special_tokens=False) if pairs else []
        for token, found in zip(tokens.tolist(), encoded, strict=True):
            kept[token] = found.ids == [*before, token]


class _Shaped:
    """The tokens by shape: the number of each one's shape, -1 where it is not text; a sample text of each shape."""

    def __init__(self, of: Canonical, shape: Callable[[str], str]):
        numbers: dict[str, int] = {}
        self.samples: list[str] = []
        self.shape_of = np.full(len(of.texts), -1, np.int32)
        for token, text in enumerate(of.texts):
            if text is not None and of.is_text[token]:
                number = numbers.setdefault(shape(of.written(text)), len(numbers))
                if number == len(self.samples):
                    self.samples.append(text)
                self.shape_of[token] = number


def canonical_of(vocab: Vocabulary) -> Canonical:
    """One for all constraints over this vocabulary object: equal ones may come from different tokenizers."""
    return _canonical_of(_Same(vocab))


@lru_cache(maxsize=4)
def _canonical_of(same: _Same) -> Canonical:
    return Canonical(same.vocab)


class _Same:
    """A vocabulary compared by identity."""

    def __init__(self, vocab: Vocabulary):
        self.vocab = vocab

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.vocab is self.vocab

    def __hash__(self) -> int:
        return id(self.vocab)


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
