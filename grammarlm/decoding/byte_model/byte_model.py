"""gl.ByteModel: a model of tokens as one of bytes, exact, so that models of different tokenizers can be blended.

    one, two = gl.ByteModel(model, tokenizer), gl.ByteModel(other, other_tokenizer)
    gl.generate(one, prompt, vocab=one.vocab, method="anchored", safe=two, budget=20.0, max_tokens=200)    # max_tokens are bytes

A byte comes next with the probability that the model writes a text which begins so, over all sequences of tokens of which each pair
is one that the tokenizer itself writes; a pair that it never writes, such as "s" and "teel", counts nothing (spellings.py). After a
prompt the next byte may be in the middle of a token: prompts are healed by themselves.

Forwards: at most one a byte, and none for a byte at which no token can end; a long prompt is read in blocks. Where more than
`covers` spellings are open, LimitExceeded. Not for a single model: tokens are several bytes a forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.argument_types import Model, Tokenizer
from grammarlm.decoding.arguments import check_integer, check_vocabulary, encode
from grammarlm.decoding.compiled_caches import stop_ids_of, vocabulary_of
from grammarlm.decoding.readers.callable import CallableReader
from grammarlm.decoding.readers.model_facts import check_model, is_encoder_decoder, width_of
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.vocab.byte_vocabulary import STOP
from grammarlm.vocab.vocabulary import Vocabulary

from .spellings import Base, Open, Spellings
from .token_rows import TokenRows

AT_ONCE = 64  # bytes that a forward reads, of all texts together: a row of logits for each base that they make


class ByteModel:
    """A model whose ids are bytes: a callable from ids [B, T] to logits [B, T, 257], the last id ends a text.

    model       of tokens, transformers or callable, that goes on with texts
    tokenizer   its own, a BPE whose merges are known (as for canonical_only)
    covers      spellings of one text that may be open at a time
    """

    def __init__(self, model: Model, tokenizer: Tokenizer, *, covers: int = 64):
        check_model(model)
        check_vocabulary(tokenizer, None)
        check_integer("covers", covers, 1)
        if is_encoder_decoder(model):
            raise TypeError(f"ByteModel takes a model that goes on with texts; {type(model).__name__} answers them")
        tokens = vocabulary_of(tokenizer, width_of(model), stop_ids_of(model, tokenizer))
        self.vocab = byte_level_vocabulary()
        self._model, self._spellings = model, Spellings(tokens, covers)
        self._start = beginning_of(tokenizer, tokens)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        texts = ids.tolist()
        rows = ByteReader(self, texts, 0, None).read(texts, [len(text) for text in texts])
        return rows.reshape(*ids.shape, STOP + 1)

    def open_reader(self, prompts: Sequence[Sequence[int]], room: int, cache: str | None) -> ByteReader:
        return ByteReader(self, prompts, room, cache)

    def token_rows(self, room: int, cache: str | None) -> TokenRows:
        """Of the model of tokens, without having read anything."""

        def opened(prompts: list[list[int]]) -> Reader:
            return open_reader(self._model, prompts, room, cache)

        return TokenRows(opened, self._start)

    @property
    def spellings(self) -> Spellings:
        return self._spellings

    def __repr__(self) -> str:
        return f"ByteModel({type(self._model).__name__})"


def byte_level_vocabulary() -> Vocabulary:
    """The 256 bytes and an end, with a tokenizer that makes bytes of a prompt."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    from grammarlm.vocab.tokenizers.byte_level import byte_level_text

    tokenizer = Tokenizer(models.BPE({byte_level_text(bytes([byte])): byte for byte in range(STOP)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|end of text|>", special=True)])
    return Vocabulary.from_tokenizer(tokenizer, stop_ids=[STOP])


def beginning_of(tokenizer: Any, tokens: Vocabulary) -> list[int]:
    """The special ids that the tokenizer puts before a text; where it puts none, the end of another text."""
    ids = encode("a", tokenizer, tokens)
    count = next((at for at, token in enumerate(ids) if token not in tokens.special_ids), 0)
    return ids[:count] or [tokens.stop_ids[0]]


class ByteReader(CallableReader):
    """Goes on from the spellings that are open after each text; after a rollback it spells the text again."""

    rollback_is_cheap = False

    def __init__(self, model: ByteModel, prompts: Sequence[Sequence[int]], room: int, cache: str | None):
        super().__init__(model, prompts)
        self.width = STOP + 1
        self._bytes, self._room, self._cache = model, room + max(map(len, prompts), default=0), cache
        self._rows = model.token_rows(self._room, cache)
        self._opens: list[tuple[Open, ...]] = [model.spellings.start() for _ in prompts]
        self._lengths = [0 for _ in prompts]  # bytes that these are after

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            outside = next((byte for byte in chunk if not 0 <= byte < STOP), None)
            if outside is not None:
                raise ValueError(f"the id {outside} is no byte: texts of a gl.ByteModel have ids from 0 to {STOP - 1}")
            text.extend(chunk)
        waiting = [text[length:] for text, length in zip(self._texts, self._lengths, strict=True)]
        found: list[list[np.ndarray]] = [[] for _ in waiting]
        size = max(1, AT_ONCE // len(waiting))
        for at in range(0, max(map(len, waiting)), size):
            parts = [text[at : at + size] for text in waiting]
            # of each part the bytes whose laws are asked for: the last ones of the text
            firsts = [len(text) - count - at for text, count in zip(waiting, scored, strict=True)]
            for own, rows in zip(found, self._advance(parts, firsts), strict=True):
                own.extend(rows)
        self._lengths = [len(text) for text in self._texts]
        return torch.from_numpy(np.stack([row for rows in found for row in rows]))

    def _advance(self, parts: Sequence[Sequence[int]], firsts: Sequence[int]) -> list[list[np.ndarray]]:
        """Reads some bytes of each text, one forward; the laws after the bytes from `firsts[i]` on."""
        spellings, asked = self._bytes.spellings, list[list[tuple[Open, ...]]]()
        for number, (part, first) in enumerate(zip(parts, firsts, strict=True)):
            asked.append([])
            for at, byte in enumerate(part):
                self._opens[number] = spellings.after(self._opens[number], byte)
                if at >= first:
                    asked[number].append(self._opens[number])
        unread: dict[Any, Base] = {}
        for opens in (*self._opens, *(opens for each in asked for opens in each)):
            for one in opens:
                collect(one.base, unread)
        if unread:
            rows = self._rows.read(unread)
            for node in sorted(unread, key=lambda node: node.length):  # parents first
                spellings.learn(unread[node], rows[node])
        return [[spellings.next_byte(opens) for opens in each] for each in asked]

    def _logits(self, rows: list[list[int]], texts: list[int]) -> torch.Tensor:
        """Each row from its beginning, without pads: they would be spelled, too."""
        length = max(map(len, rows))
        found = torch.zeros(len(rows), length, STOP + 1)
        other = ByteReader(self._bytes, rows, self._room, self._cache)
        laws = other.read(rows, list(map(len, rows))).split(list(map(len, rows)))
        for own, law in zip(found, laws, strict=True):
            own[: len(law)] = law
        return found

    def select(self, texts: Sequence[int]) -> None:
        super().select(texts)
        self._opens, self._lengths = [self._opens[at] for at in texts], [self._lengths[at] for at in texts]

    def taken(self, texts: Sequence[int]) -> ByteReader:
        other = super().taken(texts)
        assert isinstance(other, ByteReader)
        other._rows = self._bytes.token_rows(self._room, self._cache)
        other._opens, other._lengths = [self._opens[at] for at in texts], [self._lengths[at] for at in texts]
        return other

    def join(self, other: CallableReader) -> None:
        assert isinstance(other, ByteReader)
        super().join(other)
        self._opens, self._lengths = self._opens + other._opens, self._lengths + other._lengths

    def rollback(self, counts: Sequence[int]) -> None:
        super().rollback(counts)
        for at, count in enumerate(counts):
            if count:
                self._opens[at], self._lengths[at] = self._bytes.spellings.start(), 0


def collect(base: Base, unread: dict[Any, Base]) -> None:
    """The base, and those above it, as far as the model has not read them."""
    while base.law is None and base.node not in unread:
        unread[base.node] = base
        if base.parent is None:
            return
        base = base.parent
