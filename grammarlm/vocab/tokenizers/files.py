"""Reads a tokenizer from a path: a folder with tokenizer.json or tekken.json, such a file, or a SentencePiece model file.

Neither transformers nor tokenizers is imported for it. The files next to a tokenizer.json that define special tokens and end tokens
are read, too; the table is cached on disk under the hash of all these bytes.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grammarlm.collector import PATIENT
from grammarlm.errors import TokenizerError
from grammarlm.files import read_file
from grammarlm.vocab import table_cache
from grammarlm.vocab.token_table import LARGEST_ID, TokenTable

from .encoders import Encoder, FileEncoder
from .json_file import TokenizerFile, parse_object
from .sentencepiece import read_model
from .tekken import is_tekken, read_tekken

TOKENIZER, TEKKEN, CONFIG, GENERATION, SPECIAL_MAP = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
)
LARGEST = 1 << 30  # bytes of a file; tokenizers have up to 40 MB
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LISTS = ("additional_special_tokens", "extra_special_tokens")


def read_path(path: Path) -> tuple[TokenTable, Encoder]:
    """The table of a tokenizer on disk, and its encoder."""
    try:
        if path.is_dir():
            is_mistral = not (path / TOKENIZER).is_file() and (path / TEKKEN).is_file()
            path = path / (TEKKEN if is_mistral else TOKENIZER)
        is_json = path.suffix == ".json"
        files = {path.name: read_file(path, LARGEST)}
        for name in (CONFIG, GENERATION, SPECIAL_MAP) if is_json else ():
            if (path.parent / name).is_file():
                files[name] = read_file(path.parent / name, LARGEST)
    except (
        OSError,
        ValueError,
    ) as error:  # ValueError: not a regular file, or a name with a NUL or a lone surrogate
        reason = error.strerror if isinstance(error, OSError) else error
        raise TokenizerError(
            f"{str(path)[:200]!r} cannot be read ({reason}): give a folder with a tokenizer.json, that file, a "
            "SentencePiece .model file, or a loaded tokenizer (names on a hub are not downloaded here)"
        ) from None
    key = _content_hash(files)
    table = table_cache.load(key)
    if table is None:
        with PATIENT:  # half a million merges are as many lists, and no garbage
            table = _read_json(files, path.name) if is_json else read_model(files[path.name], path.name)[0]
        table_cache.save(key, table)
    return table, FileEncoder(path)


def _content_hash(files: dict[str, bytes]) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _read_json(files: dict[str, bytes], main: str) -> TokenTable:
    parsed = parse_object(files[main], main)
    if is_tekken(parsed):
        return read_tekken(parsed, main)
    file = TokenizerFile(parsed, main)
    configs = {name: parse_object(data, name) for name, data in files.items() if name != main}
    config = {**configs.get(SPECIAL_MAP, {}), **configs.get(CONFIG, {})}
    known = config.get("added_tokens_decoder")
    if isinstance(known, dict):
        file.add({"id": int(i), **entry} for i, entry in known.items() if i.isdecimal() and isinstance(entry, dict))
    for content in _named_special(config):
        token_id = file.id_of(content)
        if token_id is not None:
            file.add([{"id": token_id, "content": content, "special": True}])
    return file.components().table(_end_ids(file, config, configs.get(GENERATION, {})))


def _content(token: Any) -> str | None:
    """A token in a config: its text, or an object with the text as "content"."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def _named_special(config: dict[str, Any]) -> Iterator[str]:
    """The tokens that have a role by name (bos, eos, ...): transformers makes them special, whatever their flag says."""
    named = [config.get(role) for role in ROLES]
    for key in LISTS:
        extra = config.get(key)
        named += extra.values() if isinstance(extra, dict) else extra if isinstance(extra, list) else ()
    yield from filter(None, map(_content, named))


def _end_ids(file: TokenizerFile, config: dict[str, Any], generation: dict[str, Any]) -> list[int]:
    """The ids of eos_token, and of generation_config.json's eos_token_id."""
    ends = generation.get("eos_token_id")
    ids = [i for i in (ends if isinstance(ends, list) else [ends]) if type(i) is int and 0 <= i < LARGEST_ID]
    named = file.id_of(_content(config.get("eos_token")) or "")
    return ids if named is None else [*ids, named]
