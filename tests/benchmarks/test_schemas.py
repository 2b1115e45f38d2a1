"""What benchmarks add to `grammarlm bench`: the official suite, pictures of a run, engines of other packages."""

import json

import pytest

from benchmarks.schemas import pictures, suite
from grammarlm.bench import engines
from tests.commands.bench_cases import SCRIPTED, case_of, write_cases
from tests.commands.command_line import call

pytest.importorskip("transformers")


def test_the_schema_suite(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(engines.RUNS, "llguidance", [("scripted", SCRIPTED, {})])
    folder = tmp_path / "suite"
    (folder / "remotes").mkdir(parents=True)
    (folder / "remotes" / "a.json").write_text('{"type": "integer"}')
    for draft in ("draft7", "draft2020-12"):
        (folder / "tests" / draft).mkdir(parents=True)
        groups = [
            {"description": "one", **case_of({"allows": ["1"]}, (1, True), (2, False))},
            {"description": "two", **case_of({"does": "refuse"}, (1, True))},
        ]
        (folder / "tests" / draft / "things.json").write_text(json.dumps(groups))
    given = [str(folder), "--engines", "llguidance", "--out", str(tmp_path / "out")]
    assert suite.main(given) == 0
    printed = capsys.readouterr().out
    assert "## draft2020-12: 2 groups" in printed
    assert "## draft7: 2 groups" in printed
    assert printed.count("1 (50.00%)") == 6  # passing, refused, passing of those with tests; in each draft
    assert "draft7/things/1 two" in (tmp_path / "out" / "failing.md").read_text()
    suite.main([*given, "--draft", "draft7"])
    assert "## draft2020-12: " not in capsys.readouterr().out


def test_suite_cases_name_their_draft_and_remotes_their_uri(tmp_path) -> None:
    (tmp_path / "tests" / "draft7").mkdir(parents=True)
    groups = [
        {"description": str(i), "schema": schema, "tests": []} for i, schema in enumerate([True, {}, {"$schema": "x"}])
    ]
    (tmp_path / "tests" / "draft7" / "a.json").write_text(json.dumps(groups))
    found = [case.load()["schema"] for case in suite.cases_of(tmp_path, "draft7")]
    assert found == [True, {"$schema": suite.DRAFTS["draft7"]}, {"$schema": "x"}]
    (tmp_path / "remotes" / "sub").mkdir(parents=True)
    (tmp_path / "remotes" / "sub" / "b.json").write_text("false")
    assert suite.remotes_of(tmp_path / "remotes") == {"http://localhost:1234/sub/b.json": False}


def test_ours_finds_the_remotes_of_the_suite(capsys, tmp_path) -> None:
    (tmp_path / "remotes").mkdir()
    (tmp_path / "remotes" / "a.json").write_text('{"type": "integer"}')
    (tmp_path / "tests" / "draft7").mkdir(parents=True)
    group = {"description": "remote", **case_of({"$ref": "http://localhost:1234/a.json"}, (1, True), ("1", False))}
    (tmp_path / "tests" / "draft7" / "ref.json").write_text(json.dumps([group]))
    assert suite.main([str(tmp_path), "--draft", "draft7", "--out", str(tmp_path / "out")]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| passing  "))
    assert row.count("1 (100.00%)") == 2  # in any order of the properties, and in the schema's


@pytest.mark.parametrize(
    "bench", [("maskbench",), pytest.param(("jsonschemabench", "--model", "scripted"), marks=pytest.mark.proof)]
)
def test_a_picture_of_a_run(capsys, tmp_path, bench) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jsonschema")
    person = case_of(
        {"type": "object", "properties": {"a": {"type": "integer"}}}, ({"a": 1}, True), ({"a": "x"}, False)
    )
    folder, out = write_cases(tmp_path / "data", {"Snowplow---a": person}), tmp_path / "out"
    assert call(capsys, "bench", bench[0], str(folder), *bench[1:], "--out", str(out))[0] == 0
    pictures.draw(out, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
