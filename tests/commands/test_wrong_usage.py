"""What is wrong with a line is said in a sentence, without a traceback, whatever the command: corpus/commands.toml."""

import shlex
import shutil
import sys

import pytest

from tests.commands.command_line import call, write
from tests.corpus_files import tables

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def here(folder, tmp_path_factory):
    """Files that lines name: good ones, damaged weights, another encoding."""
    path = tmp_path_factory.mktemp("here")
    write(path / "lines.jsonl", '{"prompt": "a"}\n')
    write(path / "answers.jsonl", "")
    write(path / "broken.gbnf", "root = 1")
    (path / "latin.txt").write_bytes("naïf".encode("latin-1"))
    (path / "latin.lark").write_bytes(b'start: "\xe9"')
    (path / "empty").mkdir()
    (path / "cases").mkdir()
    write(path / "cases" / "a.json", {"schema": True, "tests": []})
    shutil.copytree(folder, path / "broken")
    (path / "broken" / "model.safetensors").write_bytes(b"{")
    return str(path)


@pytest.mark.parametrize(("line", "code", "words"), tables("commands")["wrong"])
def test_what_is_wrong_is_said(capsys, monkeypatch, folder, masked_folder, here, line, code, words):
    places = {"FOLDER": folder, "BERT": masked_folder, "HERE": here}

    def placed(text):
        for name, path in places.items():
            text = text.replace(name, path)
        return text

    monkeypatch.setattr(sys, "stdin", None)
    capsys.readouterr()  # bars of transformers
    found, out, err = call(capsys, *map(placed, shlex.split(line)))
    assert (found, out) == (code, "")
    assert placed(words) in err
    assert ("usage: grammarlm" in err) is (code == 2)
    assert code == 2 or "grammarlm: " in err
    assert "Traceback" not in err
