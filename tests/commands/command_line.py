"""The command line as a test calls it, and what its commands are given: files, and a folder with a small model."""

import json
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.cli import main


@pytest.fixture(scope="module", name="folder")
def model_folder(model, tokenizer, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module", name="masked_folder")
def folder_of_a_masked_model(tmp_path_factory):
    import torch
    import transformers

    path = tmp_path_factory.mktemp("bert")
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


def call(capsys, *arguments: str) -> tuple[Any, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code: Any = main(arguments)
    except SystemExit as error:
        code = error.code
    return code, *capsys.readouterr()


def call_generate(capsys, *arguments: str) -> tuple[Any, str, str]:
    return call(capsys, "generate", *arguments)


def write(path: Path, text: Any) -> str:
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return str(path)
