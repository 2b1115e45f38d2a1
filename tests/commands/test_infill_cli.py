"""`grammarlm infill`: pieces and lengths, samplers and their options, the view of each step, and the page."""

import html
import json
import re

import pytest

from grammarlm.decoding.systems import SAMPLERS
from tests.commands.command_line import call, write

pytest.importorskip("torch")
pytest.importorskip("transformers")
PIECES = '["Say ", 3, ", ", {"most": 4}, "é."]'
PATTERN = "Say [a-z ]+, (yes|no|maybe)é[.]"


def infill(capsys, masked_folder, *arguments):
    capsys.readouterr()  # bars of transformers
    return call(capsys, "infill", "--model", masked_folder, *arguments)


@pytest.mark.parametrize("sampler", ["confidence", "entropy", "freedave", "window"])
def test_pieces_are_filled_in(capsys, masked_folder, sampler, tmp_path) -> None:
    for pieces in (PIECES, f"@{write(tmp_path / 'pieces.json', PIECES)}"):
        given = ("--pieces", pieces, "--regex", PATTERN, "--sampler", sampler)
        code, out, err = infill(capsys, masked_folder, *given)
        assert (code, err) == (0, "")
        assert re.fullmatch(PATTERN, out.rstrip("\n"))
        found = json.loads(infill(capsys, masked_folder, *given, "--json")[1])
        assert found["text"] == out.rstrip("\n")
        assert sum(step["model_calls"] for step in found["stats"]["trace"]) == found["stats"]["forwards"]


def test_the_view_of_each_step(capsys, masked_folder) -> None:
    code, out, err = infill(
        capsys, masked_folder, "--pieces", PIECES, "--regex", PATTERN, "--explain", "--sampler", "fixed", "--steps", "3"
    )
    lines = err.splitlines()
    assert code == 0
    assert lines[0] == "Say ░░░, ░░░░é."
    assert [line.split(":")[0] for line in lines[1:7:2]] == ["step 1", "step 2", "step 3"]
    assert lines[6] == out.rstrip("\n")
    assert "tokens filled in 7, steps 3, model calls" in lines[7]
    steps = [
        re.fullmatch(r"step \d: (\d) committed \((.*)\).*, model \S+ ms, canvas \S+ ms", line) for line in lines[1:7:2]
    ]
    assert [int(step[1]) for step in steps] == [3, 2, 2]
    assert all(re.fullmatch(r"('.+?' at \d+(, )?)+(\.\.\.)?", step[2]) for step in steps)
    assert "░ masked" in lines[8]


def test_the_page(capsys, masked_folder, tmp_path) -> None:
    report = tmp_path / "page.html"
    given = ("--pieces", '["<b>&", 2, "é"]', "--regex", "<b>&[a-c]{2}é", "--report", str(report))
    code, out, _ = infill(capsys, masked_folder, *given)
    page = report.read_text(encoding="utf-8")
    assert code == 0
    assert "<script" not in page
    assert "http" not in page
    assert f'<pre id="answer">{html.escape(out.rstrip())}</pre>' in page
    assert re.findall(r'id="s(\d+)"', page) == [str(n) for n in range(len(re.findall('class="step"', page)) + 1)]
    assert len(re.findall('class="new" title', page)) == 2
    assert infill(capsys, masked_folder, *given)[0] == 0  # its own page is replaced
    report.write_text("mine")
    assert infill(capsys, masked_folder, *given)[0] == 1
    assert report.read_text() == "mine"


def test_the_help_names_every_sampler(capsys) -> None:
    _, out, _ = call(capsys, "infill", "--help")
    assert all(name in out for name in SAMPLERS)
