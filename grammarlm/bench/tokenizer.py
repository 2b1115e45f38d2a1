"""The tokenizer that all engines share: transformers' fast class from a folder, or the embedded model's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROLES = ("eos_token", "bos_token", "pad_token", "unk_token")


def load_tokenizer(name: str) -> Any:
    """From a folder with tokenizer.json, that file itself, or "tiny"; nothing is downloaded."""
    from transformers import PreTrainedTokenizerFast

    if name == "tiny":
        from grammarlm.models.tiny import FOLDER

        name = str(FOLDER)
    file = find_tokenizer(name)
    settings = file.with_name("tokenizer_config.json")
    config = json.loads(settings.read_bytes()) if settings.exists() else {}
    special = {role: config[role] for role in ROLES if config.get(role)}
    special = {role: token["content"] if isinstance(token, dict) else token for role, token in special.items()}
    return PreTrainedTokenizerFast(tokenizer_file=str(file), **special)


def find_tokenizer(name: str) -> Path:
    """The path of the tokenizer.json."""
    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"--tokenizer {name}: there is no tokenizer.json; give its folder, or tiny")
    return file
