"""Token id -> bytes: all that the rest of the package needs of a tokenizer.

    vocab = Vocabulary.from_tokenizer("path/to/model")          # or a tokenizer object
    vocab.token_bytes(vocab.encode(" the")[0])                  # b" the"

Grammars are about bytes, models about token ids, and this is the only mapping between them. It is exact or it is not built: a
tokenizer whose tokens have no bytes of their own raises TokenizerError. The bytes of a text's tokens, concatenated, are the text
after the tokenizer's normalizer; at the beginning of a text its decoder may strip spaces (see `decoders`).
"""

import hashlib
import itertools
import operator
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.errors import TokenizerError, check_type, suggesting
from grammarlm.vocab.tokenizers.encoders import Encoder
from grammarlm.vocab.tokenizers.sources import read_tokenizer

from .token_table import TokenTable

if TYPE_CHECKING:
    from .byte_trie import ByteTrie

LARGEST_SIZE = 2**31 - 1


class Vocabulary:
    """The bytes of every token id, immutable. Two with the same content are equal, whatever they were made from.

    `size` is the width of the logits. Ids from the number of tokens up to `size` exist, but are never allowed; ids from `size` on
    do not exist. A token is *text* if a mask may allow it: it has bytes, and is neither special nor a stop id.
    """

    IS_SHARED = True  # not counted as a constraint's (object_sizes.py)
    names_are_text = False  # are tokens that a grammar names read as the letters of their names (byte_vocabulary.py)?

    size: int
    stop_ids: tuple[int, ...]  # sorted
    special_ids: tuple[int, ...]  # sorted; with stop ids that the tokenizer flags as special
    offsets: np.ndarray  # int64 [n + 1]: the bytes of id i are data[offsets[i] : offsets[i + 1]]
    data: np.ndarray  # uint8
    text_ids: np.ndarray  # int32, sorted
    _encoder: Encoder | None

    def __init__(
        self,
        tokens: Sequence[bytes],
        stop_ids: Iterable[int],
        special_ids: Iterable[int] = (),
        size: int | None = None,
    ):
        """`tokens[i]` are the bytes of id i; b"" for an id without a token."""
        if isinstance(tokens, (bytes, str)) or not isinstance(tokens, Sequence) or not tokens:
            raise TokenizerError(f"tokens is a list of at least one bytes object, not {tokens!r:.60}")
        wrong = next((i for i, token in enumerate(tokens) if type(token) is not bytes), None)
        if wrong is not None:
            kind = type(tokens[wrong]).__name__
            raise TokenizerError(f"the token {wrong} is {kind}, not bytes: give the bytes it spells, b'' for a hole")
        end = len(tokens) if size is None else max(_size(size), len(tokens))
        special = _ids(special_ids, "special_ids", end)
        self._fill(TokenTable.from_tokens(tokens, special), size, stop_ids, None)

    @classmethod
    @suggesting("Vocabulary.from_tokenizer")
    def from_tokenizer(
        cls, tokenizer: Any, *, size: int | None = None, stop_ids: Iterable[int] | None = None
    ) -> "Vocabulary":
        """From a transformers or tokenizers object, a tiktoken.Encoding, a SentencePiece processor, Mistral's, or a path.

        A path is a folder with a tokenizer.json or tekken.json, that file itself, or a SentencePiece .model file. `size`: the
        width of the model's logits where it is not the tokenizer's; `stop_ids`: instead of the tokenizer's end of sequence.
        """
        width = None if size is None else _size(size)
        table, encoder = read_tokenizer(tokenizer)
        if stop_ids is None:
            width = width or table.count
            stop_ids = [i for i in table.end_ids if i < width]
            if not stop_ids:
                found = f"only {list(table.end_ids)}, beyond the size {width}" if table.end_ids else "none"
                raise TokenizerError(
                    f"the tokenizer's end of sequence is not known (found {found}): pass stop_ids=, the ids that "
                    "end a text"
                )
        vocabulary = cls.__new__(cls)
        vocabulary._fill(table, width, stop_ids, encoder)
        return vocabulary

    def _fill(self, table: TokenTable, size: int | None, stop_ids: Iterable[int], encoder: Encoder | None) -> None:
        size = table.count if size is None else _size(size)
        count = min(size, table.count)
        offsets, special = table.offsets[: count + 1], [i for i in table.special_ids if i < size]
        data = table.data[: offsets[-1]]
        stops = _ids(stop_ids, "stop_ids", size)
        if not stops:
            raise TokenizerError("stop_ids is empty: a text could never end. Give the id of the end of sequence")
        is_text = np.diff(offsets) > 0
        is_text[[i for i in (*special, *stops) if i < count]] = False
        text_ids: np.ndarray = np.flatnonzero(is_text).astype(np.int32)
        for array in (offsets, data, text_ids):
            array.setflags(write=False)
        self.__dict__.update(
            size=size,
            stop_ids=tuple(stops),
            special_ids=tuple(special),
            offsets=offsets,
            data=data,
            text_ids=text_ids,
            _encoder=encoder,
        )

    def without(self, ids: Iterable[int]) -> "Vocabulary":
        """The same, but that no text is spelled with these ids: they are special."""
        special = tuple(sorted({*self.special_ids, *_ids(ids, "ids", self.size)}))
        other = type(self).__new__(type(self))
        other._fill(TokenTable(self.offsets, self.data, special, ()), self.size, self.stop_ids, self._encoder)
        return other

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Vocabulary cannot be changed (setting {name}): make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Vocabulary cannot be changed (deleting {name}): make another one")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of an id; b"" where it has no token. A special id gives its own text, which no mask matches."""
        token_id = _index(token_id, "the token id", self.size)
        start, end = self.offsets[token_id : token_id + 2] if token_id < len(self.offsets) - 1 else (0, 0)
        return self.data[start:end].tobytes()

    def encode(self, text: str) -> list[int]:
        """The tokenizer's own ids for a text, without added special tokens.

        Text that looks like a special token is left to the tokenizer: Hugging Face's give its id, tiktoken and SentencePiece encode
        it as any other text.
        """
        if self._encoder is None:
            raise TokenizerError(
                "this vocabulary has no tokenizer to encode with: make it with Vocabulary.from_tokenizer"
            )
        check_type(text, str, "encode(text) takes a str")
        return self._encoder(text)

    @property
    def words(self) -> int:
        """Number of int32 words of a mask row."""
        return -(-self.size // 32)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: the same for the same bytes, ids and size, in any process."""
        digest = hashlib.blake2b(b"vocabulary 1", digest_size=20)
        ids = (np.array(self.stop_ids, np.int64), np.array(self.special_ids, np.int64))
        for array in (np.array([self.size]), self.offsets, self.data, self.text_ids, *ids):
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(len(array).to_bytes(8, "little"))
            digest.update(little.tobytes())
        return digest.hexdigest()

    @cached_property
    def trie(self) -> "ByteTrie":
        """The trie of the text tokens' bytes."""
        from .byte_trie import build_trie

        return build_trie(self.data, self.offsets, self.text_ids, self.words * 32)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Vocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<Vocabulary: size {self.size}, {len(self.text_ids)} text tokens, stop ids {list(self.stop_ids)}>"


def _index(value: Any, name: str, end: int) -> int:
    """An integer in 0 .. end - 1; numpy's integers too, but no bool."""
    try:
        index = operator.index(value)
    except TypeError:
        index = -1
    if isinstance(value, bool) or not 0 <= index < end:
        raise TokenizerError(f"{name} is {value!r:.60}: ids are integers from 0 to {end - 1}")
    return index


def _ids(values: Iterable[int], name: str, end: int) -> list[int]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TokenizerError(f"{name} is {values!r:.60}: give a list of ids, for example [2]")
    ids = sorted(_index(value, f"{name}[{i}]", end) for i, value in enumerate(values))
    twice = next((a for a, b in itertools.pairwise(ids) if a == b), None)
    if twice is not None:
        raise TokenizerError(f"{name} has the id {twice} twice: each id is given once")
    return ids


def _size(size: Any) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        number = 0
    if isinstance(size, bool) or not 0 < number <= LARGEST_SIZE:
        raise TokenizerError(f"size is {size!r:.60}: the width of the logits is an integer from 1 to {LARGEST_SIZE}")
    return number
