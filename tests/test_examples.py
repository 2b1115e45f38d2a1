"""Every example runs and prints what it promises."""

import json
import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")
FOLDER = Path(__file__).parent.parent / "examples"


def lines_of(name, capsys):
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_record_from_a_sentence(capsys):
    record, cost = lines_of("record_from_a_sentence.py", capsys)
    assert set(json.loads(record.replace("'", '"'))) == {"name", "age", "city", "job"}
    assert re.fullmatch(r"\d+ tokens, \d+\.\d% of the probability removed", cost)


def test_classify(capsys):
    lines = lines_of("classify.py", capsys)
    assert len(lines) == 3
    assert all(re.fullmatch(r".+[?.] +[a-z_]+ +\d+%", line) for line in lines)


def test_any_callable(capsys):
    lines = lines_of("any_callable.py", capsys)
    assert len(lines) == 12
    assert all(re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", line) for line in lines)
    assert not any(re.search(r"-02-3|-(04|06|09|11)-31", line) for line in lines)


def test_beams_in_transformers(capsys):
    records = [json.loads(line) for line in lines_of("beams_in_transformers.py", capsys)]
    assert len(records) == 2
    assert all(set(record) == {"city", "seats"} and record["seats"] >= 1 for record in records)


def test_every_example_is_tested():
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in source for path in FOLDER.glob("*.py"))
