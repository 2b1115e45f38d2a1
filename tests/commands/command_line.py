"""The command line as a test calls it, and what its commands are given: files, and a folder with a small model."""

import json
from pathlib import Path
from typing import Any

import pytest

from grammarlm.cli import main


@pytest.fixture(scope="module", name="folder")
def model_folder(model, tokenizer, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    model.save_pretrained(path)
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
