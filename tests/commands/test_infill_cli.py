"""`grammarlm infill`: pieces and lengths, samplers and their options, the view of each step, and the page."""

import html
import json
import re

import pytest

import grammarlm as gl
from grammarlm.decoding.systems import SAMPLERS
from tests.commands.command_line import call, write

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
PIECES = '["Say ", 3, ", ", {"most": 4}, "é."]'
PATTERN = "Say [a-z ]+, (yes|no|maybe)é[.]"


@pytest.fixture(scope="module", name="folder")
def folder_of_a_masked_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("bert")
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=len(tokenizer), **SIZES)
    transformers.BertForMaskedLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


def infill(capsys, folder, *arguments):
    capsys.readouterr()  # bars of transformers
    return call(capsys, "infill", "--model", folder, *arguments)


@pytest.mark.parametrize("sampler", ["confidence", "entropy", "freedave", "window"])
def test_pieces_are_filled_in(capsys, folder, sampler, tmp_path) -> None:
    for pieces in (PIECES, f"@{write(tmp_path / 'pieces.json', PIECES)}"):
        given = ("--pieces", pieces, "--regex", PATTERN, "--sampler", sampler)
        code, out, err = infill(capsys, folder, *given)
        assert (code, err) == (0, "")
        assert re.fullmatch(PATTERN, out.rstrip("\n"))
        found = json.loads(infill(capsys, folder, *given, "--json")[1])
        assert found["text"] == out.rstrip("\n")
        assert sum(step["model_calls"] for step in found["stats"]["trace"]) == found["stats"]["forwards"]


def test_the_view_of_each_step(capsys, folder) -> None:
    code, out, err = infill(
        capsys, folder, "--pieces", PIECES, "--regex", PATTERN, "--explain", "--sampler", "fixed", "--steps", "3"
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


def test_the_page(capsys, folder, tmp_path) -> None:
    report = tmp_path / "page.html"
    given = ("--pieces", '["<b>&", 2, "é"]', "--regex", "<b>&[a-c]{2}é", "--report", str(report))
    code, out, _ = infill(capsys, folder, *given)
    page = report.read_text(encoding="utf-8")
    assert code == 0
    assert "<script" not in page
    assert "http" not in page
    assert f'<pre id="answer">{html.escape(out.rstrip())}</pre>' in page
    assert re.findall(r'id="s(\d+)"', page) == [str(n) for n in range(len(re.findall('class="step"', page)) + 1)]
    assert len(re.findall('class="new" title', page)) == 2
    assert infill(capsys, folder, *given)[0] == 0  # its own page is replaced
    report.write_text("mine")
    assert infill(capsys, folder, *given)[0] == 1
    assert report.read_text() == "mine"


def test_wrong_usage_and_wrong_input(capsys, folder, tmp_path) -> None:
    for arguments, code, message in (
        ((), 2, "one of the arguments --pieces --length is required"),
        (("--length", "0"), 2, "1 or more"),
        (("--length", "3", "--sampler", "best"), 2, "invalid choice"),
        (("--length", "3", "--set", "tau"), 2, "NAME=VALUE"),
        (("--length", "3", "--set", "tua=1"), 1, "tau"),
        (("--pieces", "Say"), 1, "JSON list"),
        (("--pieces", '[{"least": 3}]'), 1, "neither a text nor a hole"),
        (("--pieces", '["a", 2]', "--regex", "b+"), 1, "no text of the constraint"),
        (("--length", "3", "--explain", "--json"), 2, "not allowed with"),
    ):
        found = infill(capsys, folder, *arguments)
        assert found[0] == code, (arguments, found)
        assert message in found[2]
    assert call(capsys, "infill", "--model", str(tmp_path / "none"), "--length", "3")[0] == 1


def test_the_help_names_every_sampler(capsys) -> None:
    _, out, _ = call(capsys, "infill", "--help")
    assert all(name in out for name in SAMPLERS)
