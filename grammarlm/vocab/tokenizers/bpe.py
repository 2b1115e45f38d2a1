"""The data of byte-pair encoding (BPE): ranked merges, the pre-tokenizer, and added tokens.

Read from the tokenizer.json that a vocabulary was made from. Any component that changes a text in an unknown way is refused by
name. What a tokenizer inserts before a text's first word (a dummy space) is left out: it concerns the text's beginning alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grammarlm.errors import TokenizerError
from grammarlm.vocab.vocabulary import Vocabulary

from .encoders import FileEncoder, encode_with

SPACE = "\u2581"


@dataclass(frozen=True)
class Bpe:
    """BPE over the ids of a vocabulary."""

    merges: np.ndarray  # int64 [3, merges]: left << 32 | right, sorted; rank; merged id
    ids: dict[str, int]  # the model's tokens, as written in tokenizer.json
    byte_level: bool  # symbols are bytes; otherwise characters, or bytes of a character that is no token
    spaces_as_mark: bool  # a space is written as U+2581
    composes: bool  # texts are normalised to NFC first
    keeps_whole: bool  # ignore_merges: a word that is a token is that token
    cuts: Any  # the tokenizer's pre-tokenizer as JSON, None where there is none
    added: dict[str, int]  # texts that are split off before anything else, and their ids
    raw: frozenset[str]  # those of them that are matched before normalisation
    json: str  # an equivalent tokenizer.json


def read_bpe(vocab: Vocabulary) -> Bpe:
    """TokenizerError where the vocabulary has no BPE tokenizer, or one with an unknown component."""
    try:
        return _read(vocab)
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        if isinstance(error, TokenizerError):
            raise
        raise TokenizerError(f"its tokenizer.json cannot be read: {error!r:.200}") from None


def tokenizer_of(bpe: Bpe) -> Any:
    """A tokenizer of the `tokenizers` library, without the prefix of a text's beginning."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise TokenizerError("the package tokenizers is needed: install it") from None
    return Tokenizer.from_str(bpe.json)


def _read(vocab: Vocabulary) -> Bpe:
    text = _tokenizer_json(vocab._encoder)
    if text is None:
        raise TokenizerError(
            "its merges are not at hand: the vocabulary is not made from a Hugging Face tokenizer or a tokenizer.json"
        )
    parsed = json.loads(text)
    model = parsed["model"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise TokenizerError(f"its model is {model.get('type')}, not BPE")
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(option):
            raise TokenizerError(f"its BPE has a {option}")
    normalizers = _parts(parsed.get("normalizer"), "normalizers")
    cutters = _parts(parsed.get("pre_tokenizer"), "pretokenizers")
    spaces_as_mark, composes = _normalizers(normalizers)
    byte_level = _pre_tokenizers(cutters)
    if byte_level and spaces_as_mark:
        raise TokenizerError("its texts are both bytes and marked spaces")
    added = parsed.get("added_tokens") or []
    for token in added:
        if any(token.get(flag) for flag in ("lstrip", "rstrip", "single_word")):
            raise TokenizerError(
                f"its added token {token['content'][:60]!r} is matched with lstrip, rstrip or single_word"
            )
    parsed["normalizer"] = {"type": "Sequence", "normalizers": normalizers} if normalizers else None
    parsed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": cutters} if cutters else None
    parsed["post_processor"] = parsed["truncation"] = parsed["padding"] = None
    ids = model["vocab"]
    return Bpe(
        _merges(model["merges"], ids),
        ids,
        byte_level,
        spaces_as_mark,
        composes,
        bool(model.get("ignore_merges")),
        parsed["pre_tokenizer"],
        {token["content"]: token["id"] for token in added},
        frozenset(token["content"] for token in added if not token.get("normalized")),
        json.dumps(parsed),
    )


def _tokenizer_json(encoder: Any) -> str | None:
    if isinstance(encoder, FileEncoder):
        return encoder.path.read_text("utf-8") if encoder.path.suffix == ".json" else None
    if isinstance(encoder, partial):
        if encoder.func is encode_with:
            return encoder.args[0].to_str()
        backend = getattr(getattr(encoder.func, "__self__", None), "backend_tokenizer", None)
        return None if backend is None else backend.to_str()
    return None


def _parts(component: Any, name: str) -> list[dict[str, Any]]:
    """A component, or those of a Sequence (flattened)."""
    found, waiting = [], [component] if component else []
    while waiting:
        part = waiting.pop(0)
        if part["type"] == "Sequence":
            waiting[:0] = part[name]
        else:
            found.append(part)
    return found


def _normalizers(parts: list[dict[str, Any]]) -> tuple[bool, bool]:
    """Removes normalizers of a text's beginning; returns (spaces are marked, texts are composed)."""
    parts[:] = [part for part in parts if part["type"] != "Prepend"]
    marked = composed = False
    for part in parts:
        if part["type"] == "Replace" and part["pattern"] == {"String": " "} and part["content"] == SPACE:
            marked = True
        elif part["type"] == "NFC":
            composed = True
        else:
            raise TokenizerError(f"its normalizer {part['type']} is not known here")
    return marked, composed


def _pre_tokenizers(parts: list[dict[str, Any]]) -> bool:
    """Are the symbols bytes? (ByteLevel)"""
    byte_level = False
    for part in parts:
        if part["type"] == "ByteLevel":
            byte_level, part["add_prefix_space"] = True, False
        elif part["type"] == "Split":
            if part["behavior"] not in ("Isolated", "MergedWithPrevious", "MergedWithNext"):
                raise TokenizerError(f"its pre-tokenizer takes characters away ({part['behavior']})")
        elif part["type"] != "Digits":
            raise TokenizerError(f"its pre-tokenizer {part['type']} is not known here")
    return byte_level


def _merges(pairs: list, ids: dict[str, int]) -> np.ndarray:
    table = np.empty((3, len(pairs)), np.int64)
    for rank, pair in enumerate(pairs):
        left, right = pair.split(" ") if isinstance(pair, str) else pair
        table[0, rank] = ids[left] << 32 | ids[right]
        table[2, rank] = ids[left + right]
    table[1] = np.arange(len(pairs))
    return np.ascontiguousarray(table[:, np.argsort(table[0])])
