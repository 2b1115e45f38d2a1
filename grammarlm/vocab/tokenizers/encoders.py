"""Text -> ids by the tokenizer itself, without special tokens, truncation or padding. A library is imported when needed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from grammarlm.errors import TokenizerError

from .json_file import parse_object
from .tekken import is_tekken, tekken_encoder

Encoder = Callable[[str], list[int]]


def tokenizers_encoder(backend: Any) -> Encoder:
    """Encoder of a `tokenizers.Tokenizer`; of a copy where it truncates or pads, since its owner may want that."""
    if backend.truncation is not None or backend.padding is not None:
        backend = type(backend).from_str(backend.to_str())
        backend.no_truncation()
        backend.no_padding()
    return partial(encode_with, backend)


def encode_with(backend: Any, text: str) -> list[int]:
    return backend.encode(text, add_special_tokens=False).ids


def sentencepiece_encoder(processor: Any) -> Encoder:
    """Encoder of a SentencePiece processor, whatever it was configured to add."""
    plain = {"add_bos": False, "add_eos": False, "reverse": False, "enable_sampling": False}
    return partial(processor.encode, out_type=int, **plain)


class FileEncoder:
    """Encoder of a tokenizer file, by the library that it belongs to."""

    def __init__(self, path: Path):
        self.path = path
        self._encode: Encoder | None = None

    def __call__(self, text: str) -> list[int]:
        if self._encode is None:
            self._encode = _load(self.path)
        return self._encode(text)


def _load(path: Path) -> Encoder:
    parsed = parse_object(path.read_bytes(), path.name) if path.suffix == ".json" else {}
    library = "sentencepiece" if path.suffix != ".json" else "tiktoken" if is_tekken(parsed) else "tokenizers"
    try:
        if library == "tiktoken":
            return tekken_encoder(parsed)
        if library == "tokenizers":
            from tokenizers import Tokenizer

            return tokenizers_encoder(Tokenizer.from_file(str(path)))
        from sentencepiece import SentencePieceProcessor

        return sentencepiece_encoder(SentencePieceProcessor(model_file=str(path)))
    except ImportError:
        raise TokenizerError(f"to encode with {path.name} the package {library} is needed: install it") from None
