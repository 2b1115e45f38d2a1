"""Tokenizers of real models, MaskBench and the JSON Schema Test Suite: the folder that GRAMMARLM_DATA names, if any."""

import functools
import os
from pathlib import Path

import pytest

import grammarlm as gl
from grammarlm.models.tiny import FOLDER as EMBEDDED

DATA = os.environ.get("GRAMMARLM_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GRAMMARLM_DATA says where real tokenizers and schemas are")
FOLDER = Path(DATA or "/nowhere")
MASKBENCH = FOLDER / "maskbench"
SUITE = FOLDER / "json-schema-test-suite"
TOKENIZERS = sorted((FOLDER / "tokenizers").iterdir()) if DATA else []
NAMES = [folder.name for folder in TOKENIZERS]
# By name: the embedded model's, which is always there, and that of one large model.
SMALL_AND_LARGE = {"embedded": EMBEDDED} | ({"llama3_1": FOLDER / "tokenizers" / "llama3_1"} if DATA else {})


@functools.cache
def real_vocabulary(name: str) -> gl.Vocabulary:
    """Read once a process: the large ones take seconds."""
    return gl.Vocabulary.from_tokenizer(FOLDER / "tokenizers" / name)
