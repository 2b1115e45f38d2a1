"""`grammarlm serve`: what it starts, where it listens, and what it says where it cannot."""

import sys

import pytest
import uvicorn

from grammarlm.cli import main


@pytest.fixture
def started(monkeypatch):
    """What uvicorn would have been given."""
    given = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: given.update(options, app=app))
    monkeypatch.delenv("GRAMMARLM_API_KEY", raising=False)
    return given


def test_it_listens_to_this_machine_alone(started, capsys):
    assert main(["serve", "tiny", "--port", "0"]) == 0
    assert (started["host"], started["port"]) == ("127.0.0.1", 0)
    assert {route.path for route in started["app"].routes} == {
        "/", "/health", "/v1/models", "/v1/completions", "/v1/chat/completions", "/why",
    }  # fmt: skip
    assert capsys.readouterr().err == ""


def test_other_machines_are_told_of(started, capsys):
    assert main(["serve", "tiny", "--host", "0.0.0.0"]) == 0
    assert "0.0.0.0 may be reached by other machines, and no API key is asked for" in capsys.readouterr().err
    assert main(["serve", "tiny", "--host", "0.0.0.0", "--api-key", "secret"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "option", ["--max-tokens", "--max-waiting", "--max-body", "--max-answers", "--max-ms", "--batch-size"]
)
def test_numbers_out_of_range_are_wrong_usage(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["serve", "tiny", option, "0"])
    assert ended.value.code == 2
    assert f"{option} 0: it takes a number of 1 or more" in capsys.readouterr().err


def test_what_is_missing_is_named(monkeypatch, capsys, tmp_path):
    assert main(["serve", str(tmp_path / "none")]) == 1
    assert "there is no such folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "tiny"]) == 1
    assert "serve needs uvicorn: pip install 'grammarlm[torch,serve]'" in capsys.readouterr().err
