"""Tokenizers for benchmarks: real ones from $GRAMMARLM_DATA/tokenizers, else the embedded model's."""

import json
import os
from pathlib import Path

import grammarlm as gl


def load(name: str):
    """(transformers tokenizer, vocabulary, name)"""
    from transformers import PreTrainedTokenizerFast

    data = os.environ.get("GRAMMARLM_DATA")
    if not data:
        _, tokenizer = gl.load_tiny()
        return tokenizer, gl.Vocabulary.from_tokenizer(tokenizer), "tiny"
    folder = Path(data) / "tokenizers" / name
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    special = {role: config[role] for role in ("eos_token", "bos_token") if config.get(role)}
    special = {role: token["content"] if isinstance(token, dict) else token for role, token in special.items()}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **special)
    return tokenizer, gl.Vocabulary.from_tokenizer(str(folder)), name
