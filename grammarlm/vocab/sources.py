"""Which reader a tokenizer goes to, told by where its class was defined: no library is imported to find out."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.huggingface import read_tokenizers, read_transformers
from grammarlm.vocab.token_table import TokenTable
from grammarlm.vocab.tokenizer_files import read_path

Encoder = Callable[[str], list[int]]


def read_tokenizer(tokenizer: Any) -> tuple[TokenTable, Encoder]:
    """What the tokenizer's ids spell, and what encodes a text with it, without special tokens around."""
    if isinstance(tokenizer, (str, os.PathLike)):
        return read_path(Path(tokenizer))
    libraries = {base.__module__.partition(".")[0] for base in type(tokenizer).__mro__}
    if "transformers" in libraries:
        return read_transformers(tokenizer), lambda text: tokenizer.encode(text, add_special_tokens=False)
    if "tokenizers" in libraries:
        return read_tokenizers(tokenizer), lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    raise TokenizerError(
        f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__} is no tokenizer known here; accepted: a transformers or "
        "tokenizers object, tiktoken.Encoding, a SentencePiece processor, or a path; or Vocabulary(tokens, stop_ids)"
    )
