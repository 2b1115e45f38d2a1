"""Chooses the reader of a tokenizer by the module of its class, so that no library is imported to find out."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from grammarlm.errors import TokenizerError
from grammarlm.vocab.token_table import TokenTable

from .encoders import Encoder, sentencepiece_encoder, tokenizers_encoder
from .files import read_path
from .huggingface import read_tokenizers, read_transformers
from .sentencepiece import read_model
from .tekken import read_mistral
from .tiktoken import read_tiktoken


def read_tokenizer(tokenizer: Any) -> tuple[TokenTable, Encoder]:
    """The table of the tokenizer's ids, and an encoder that encodes as it does itself, without added special tokens."""
    if isinstance(tokenizer, (str, os.PathLike)):
        return read_path(Path(tokenizer))
    libraries = {base.__module__.partition(".")[0] for base in type(tokenizer).__mro__}
    if inner := _inside_mistral(tokenizer, libraries):
        return read_tokenizer(inner)
    if "mistral_common" in libraries and hasattr(tokenizer, "id_to_byte_piece"):
        return read_mistral(tokenizer), partial(tokenizer.encode, bos=False, eos=False)
    if "transformers" in libraries:
        return read_transformers(tokenizer), partial(tokenizer.encode, add_special_tokens=False)
    if "tokenizers" in libraries and hasattr(tokenizer, "get_vocab"):
        backend = getattr(tokenizer, "_tokenizer", tokenizer)  # tokenizers.implementations are wrappers
        return read_tokenizers(backend), tokenizers_encoder(backend)
    if "tiktoken" in libraries and hasattr(tokenizer, "decode_single_token_bytes"):
        return read_tiktoken(tokenizer), tokenizer.encode_ordinary
    if "sentencepiece" in libraries and hasattr(tokenizer, "serialized_model_proto"):
        table, _ = read_model(tokenizer.serialized_model_proto(), "the SentencePiece processor")
        return table, sentencepiece_encoder(tokenizer)
    raise TokenizerError(
        f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__} is no tokenizer known here; accepted: a "
        "transformers or tokenizers object, tiktoken.Encoding, a SentencePiece processor, or a path; or give "
        "Vocabulary(tokens, stop_ids) the bytes"
    )


def _inside_mistral(tokenizer: Any, libraries: set[str]) -> Any:
    """The tokenizer that a wrapper of Mistral's holds: its own library's, transformers' or vLLM's."""
    if not type(tokenizer).__name__.startswith("Mistral") or not libraries & {"mistral_common", "transformers", "vllm"}:
        return None
    for holder in (tokenizer, getattr(tokenizer, "tokenizer", None), getattr(tokenizer, "instruct_tokenizer", None)):
        inner = getattr(holder, "tokenizer", None)
        if inner is not None and type(inner).__module__.startswith("mistral_common.tokens.tokenizers"):
            model = getattr(inner, "_model", None)
            return model if hasattr(model, "serialized_model_proto") else inner
    return None
