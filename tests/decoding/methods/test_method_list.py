"""gl.methods and `grammarlm methods`: what they say is what the files say, and what the reference's table says is what happens."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import grammarlm as gl
from grammarlm.decoding.method_list import OTHERS, PURPOSES
from grammarlm.decoding.systems import METHODS
from tests.commands.command_line import call
from tests.decoding.left_to_right import needed
from tests.decoding.methods.two_models import FIRST, WIDTH, generate
from tests.decoding.random_models import random_model

SYSTEMS = Path(__file__).parents[3] / "docs" / "reference" / "systems.md"
TABLE = {
    cells[0]: cells[1:]
    for line in SYSTEMS.read_text(encoding="utf-8").partition("\n## Drafters\n")[0].splitlines()
    if (cells := re.findall(r"(?<=\| )[^|]+(?= \|)", line)) and re.fullmatch(r'`"\w+"`', cells[0])
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_is_for(name):
    """Of each that is registered: one of the purposes, and all facts, in the words of its file."""
    found = gl.methods[name]
    place = METHODS[name].partition(":")[0]
    text = inspect.getdoc(importlib.import_module(f"grammarlm.{place}"))
    assert found.text == text
    assert found.purpose in PURPOSES, "its file needs 'Purpose: ...' before 'Forwards:'"
    flat = " ".join(text.split())
    for fact in (found.idea, found.forwards, found.law, found.unfit):
        assert fact
        assert fact in flat
    assert flat.startswith(f'method="{name}": {found.idea}')
    assert found.unfit.startswith("Not ")
    assert f'method="{name}"' in found.example
    ast.parse(found.example)
    assert ("published" in place) <= bool(found.source)


def test_all_methods_are_listed_by_purpose(capsys):
    assert list(gl.methods) == list(METHODS)
    by_purpose = gl.methods.by_purpose()
    assert sorted(one.name for each in by_purpose.values() for one in each) == sorted(METHODS)
    assert list(by_purpose) == [purpose for purpose in PURPOSES if purpose in by_purpose]
    assert call(capsys, "methods") == (0, f"{gl.methods!r}\n", "")
    assert re.findall(r"^  (\w+) ", repr(gl.methods), re.MULTILINE) == [
        one.name for each in by_purpose.values() for one in each
    ]
    assert max(map(len, repr(gl.methods).splitlines())) <= 100


@pytest.mark.parametrize("name", METHODS)
def test_the_command_tells_all_of_one(name, capsys):
    assert call(capsys, "methods", name) == (0, f"{gl.methods[name].text}\n", "")


def test_a_name_that_is_none(capsys):
    code, out, err = call(capsys, "methods", "votes")
    assert (code, out) == (2, "")
    assert "votes" in err
    with pytest.raises(KeyError, match=r"there is no method 'votes'; there are masked, "):
        _ = gl.methods["votes"]


def test_a_method_that_says_nothing_is_listed_all_the_same(monkeypatch):
    monkeypatch.setitem(METHODS, "new", "decoding.trace:TraceStep")
    found = gl.methods["new"]
    assert (found.purpose, found.forwards, found.example) == (OTHERS, "", "")
    assert "new" in gl.methods
    assert repr(gl.methods).rpartition(f"{OTHERS}:\n")[2].startswith("  new ")


def test_without_docstrings_and_torch():
    code = 'import sys, grammarlm as gl; print(gl.methods["vote"].law, "torch" in sys.modules)'
    run = subprocess.run([sys.executable, "-OO", "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == f"{gl.methods['vote'].law} False\n"


# ------------------------------------------------------------------ the reference's table


def options_of(name):
    return {"anchored": {"safe": [2], "budget": 3.0}, "diffusion": {"mask_id": 3}}.get(name, needed(name))


def refusal(name, **options):
    """What is said; None where there is an answer."""
    given = {} if name in ("beam", "superposed", "best_first") else {"temperature": 1.0, "seed": 2}
    model = random_model("Llama", WIDTH) if name == "superposed" else FIRST
    try:
        out = generate(name, [0], model, max_tokens=5, **given, **options_of(name), **options)
    except (ValueError, TypeError) as error:
        return str(error)
    assert out.error is None
    return None


def test_the_table_has_all_methods():
    assert [name.strip('`"') for name in TABLE] == list(METHODS)
    assert all(len(cells) == 3 for cells in TABLE.values())


@pytest.mark.parametrize("name", METHODS)
def test_the_table_says_what_is_refused(name):
    _, with_draft, with_filters = TABLE[f'`"{name}"`']
    assert refusal(name) is None
    said = refusal(name, draft="copy")
    assert with_draft.startswith("refused") == (said is not None and "draft" in said)
    said = refusal(name, top_k=2)
    assert (with_filters == "refused") == (said is not None and "top_k=" in said)
