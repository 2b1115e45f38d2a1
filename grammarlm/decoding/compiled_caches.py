"""Caches of generate(): the vocabularies of the latest tokenizers, and the latest constraints."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache

from grammarlm.decoding.readers.mask_facts import fills_masks, mask_id_of
from grammarlm.decoding.readers.model_facts import is_transformers_model, text_config
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.compiler import Compiler
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .argument_types import Model, Tokenizer

LOGGER = logging.getLogger("grammarlm.decoding")
# Vocabularies are bounded by count, not by weak references: a vocabulary references its tokenizer, to encode with, so a weak
# key would never die.
MOST_VOCABULARIES = 8
MOST_BYTES = 512 << 20  # of the constraints over one vocabulary


def vocabulary_of(tokenizer: Tokenizer, size: int | None, stop_ids: Iterable[int]) -> Vocabulary:
    """The tokenizer's vocabulary, as wide as the logits where their width is known.

    Without stop ids it takes the tokenizer's own end of sequence.
    """
    stops = tuple(sorted({i for i in stop_ids if i >= 0 and (size is None or i < size)})) or None
    count = len(tokenizer) if hasattr(tokenizer, "__len__") else None
    try:
        return _vocabulary(tokenizer, size, stops, count)
    except TypeError:  # a tokenizer that cannot be hashed
        return Vocabulary.from_tokenizer(tokenizer, size=size, stop_ids=stops)


@lru_cache(maxsize=MOST_VOCABULARIES)
def _vocabulary(tokenizer: Tokenizer, size: int | None, stops: tuple[int, ...] | None, count: int | None) -> Vocabulary:
    """`count` is only part of the cache key: a tokenizer that got more tokens since is another one."""
    return Vocabulary.from_tokenizer(tokenizer, size=size, stop_ids=stops)


def tokenizer_of(model: Model) -> Tokenizer:
    """The tokenizer stored where a transformers model was loaded from; None if there is none. Nothing is downloaded."""
    if not is_transformers_model(model):
        return None
    folder = getattr(model, "name_or_path", None) or getattr(getattr(model, "config", None), "_name_or_path", None)
    return _tokenizer_at(str(folder)) if folder else None


@lru_cache(maxsize=MOST_VOCABULARIES)
def _tokenizer_at(folder: str) -> Tokenizer:
    """Cached, so that one path gives one object and its vocabulary is made once."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, ImportError, KeyError):  # none, or one that needs its own code (trust_remote_code)
        return None


def stop_ids_of(model: Model, tokenizer: Tokenizer) -> list[int]:
    """Every id that the model's configs or the tokenizer call the end of sequence; of models that fill in masks the padding as
    well, for with that they fill the rest of a row."""
    found: list[int] = []
    for source in (
        getattr(model, "generation_config", None),
        getattr(model, "config", None),
        text_config(model),
        tokenizer,
    ):
        end = getattr(source, "eos_token_id", None)
        found += [end] if isinstance(end, int) else end or []
    padding = getattr(tokenizer, "pad_token_id", None)
    if found and isinstance(padding, int) and padding != mask_id_of(model, tokenizer) and fills_masks(model):
        found.append(padding)
    return sorted(set(found))


def constraint_of(grammar: Grammar, vocab: Vocabulary, limits: Limits | None = None) -> tuple[Constraint, bool]:
    """The compiled grammar, and whether it was cached."""
    compiler = compiler_of(vocab)
    before = compiler.stats.hits
    constraint = compiler.compile(grammar, limits=limits)
    was_cached = compiler.stats.hits > before
    LOGGER.debug("%r is %s", constraint, "among the latest" if was_cached else "new")
    return constraint, was_cached


@lru_cache(maxsize=MOST_VOCABULARIES)
def compiler_of(vocab: Vocabulary) -> Compiler:
    return Compiler(vocab, max_bytes=MOST_BYTES)
