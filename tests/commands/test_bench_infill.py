"""`grammarlm bench infill`: on a network without training, which is right about nothing and never invalid under a grammar."""

import json

import pytest
import torch

import grammarlm as gl
from grammarlm.bench.infilling import measure, prompts
from grammarlm.models.network import Network, Shape
from tests.commands.command_line import call


@pytest.fixture(scope="module")
def pair():
    tokenizer = gl.load_tiny()[1]
    torch.manual_seed(2)
    return Network(Shape(len(tokenizer), hidden=32, layers=1, causal=False)).eval(), tokenizer


def test_figures_of_one_sampler(pair) -> None:
    asked = prompts(pair[1], "arithmetic", 3)
    held = measure(*pair, asked, "fixed", 4, constrained=True)
    free = measure(*pair, asked, "fixed", 4, constrained=False)
    assert (held.answers, held.invalid, held.model_calls) == (3, 0, 12)
    assert (free.right, free.invalid) == (0, 3)
    assert held.model_ms > 0
    assert held.canvas_ms > 0


def test_the_command(pair, capsys, tmp_path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(gl, "load_tiny", lambda **_: pair)
    given = ("--tasks", "arithmetic", "--samplers", "confidence,blocks", "--steps", "2,4", "--count", "1")
    code, out, _ = call(capsys, "bench", "infill", *given, "--out", str(tmp_path))
    assert code == 0
    assert "| sampler    |" in out
    assert "| blocks     |" in out
    assert len(json.loads((tmp_path / "figures.json").read_text())["arithmetic"]) == 8
    assert (tmp_path / "infill.png").stat().st_size > 5_000
    assert call(capsys, "bench", "infill", "--steps", "none")[0] == 2
