"""The documents are true: their examples run in order, their commands exist, their links lead somewhere."""

import importlib
import json
import re
import shlex
from dataclasses import fields
from typing import Any

import pytest
import torch
import transformers

import grammarlm as gl
from benchmarks import front_page
from benchmarks.report import FIGURES, RESULTS, TEXTS
from grammarlm.cli import main
from grammarlm.decoding.systems import ACCEPTANCE, DRAFTERS, METHODS, OBJECTS, SAMPLERS, TREES
from grammarlm.grammars.json_schema.read.keywords import KEYWORDS
from grammarlm.grammars.json_schema.strings.formats import CHECKED, FORMATS
from tests.documents import ROOT, SITE, broken_links, commands, examples, name_of, pages, run_examples, steps

BENCHES = ("maskbench", "jsonschemabench")
PAGES = pages()
WITH_EXAMPLES = [page for page in PAGES if examples(page)]
WITH_SESSIONS = [page for page in PAGES if any(steps(page))]

# Each example that is not run, by its page and the reason that stands before it. There are at most eight.
NOT_RUN = [
    ("README.md", "needs a download"),
    ("docs/guide/devices.md", "needs a CUDA device"),
]


@pytest.fixture(autouse=True)
def one_thread():
    """Two threads of torch on two busy cores wait for each other: the examples would take four times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_the_examples_run(page) -> None:
    run_examples(page)


def test_the_guide_has_an_example_on_each_page() -> None:
    guide = {page for page in PAGES if page.parent == SITE / "guide"}
    assert guide <= {*WITH_EXAMPLES, *WITH_SESSIONS}
    assert len(guide) >= 8


def test_each_page_of_the_guide_is_found_from_the_front() -> None:
    for front, folder in ((ROOT / "README.md", "docs/guide/"), (SITE / "index.md", "guide/")):
        text = front.read_text(encoding="utf-8")
        assert all(f"]({folder}{page.name})" in text for page in (SITE / "guide").glob("*.md"))


def test_the_guide_has_one_order() -> None:
    """That in which a user meets its pages: in the navigation, on the site's front page and in README."""
    ordered = re.findall(r"guide/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    front = (SITE / "index.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("- **Guide**")[2]
    assert re.findall(r"\]\(guide/([\w-]+)\.md\)", front) == ordered
    assert re.findall(r"\]\(docs/guide/([\w-]+)\.md\)", readme) == ordered


def test_few_examples_are_not_run() -> None:
    found = [
        (name_of(block.page), block.not_run) for page in PAGES for block in examples(page) if block.not_run is not None
    ]
    assert found == NOT_RUN
    assert len(found) <= 8


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=name_of)
def test_the_sessions_are_true(page, capsys, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    for command, shown in steps(page):
        assert main(shlex.split(command)) in (0, 1)
        out, err = capsys.readouterr()
        assert shown.fullmatch(out + err), (command, out + err)


def test_there_are_sessions() -> None:
    assert sum(1 for page in WITH_SESSIONS for _ in steps(page)) >= 4


def test_the_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {command for page in PAGES for command in commands(page)}
    assert {"demo", "test", "docs"} <= named <= targets


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_lead_somewhere(page) -> None:
    assert not broken_links(page)


@pytest.mark.parametrize(
    "page", [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(SITE.glob("design/*.md"))], ids=name_of
)
def test_the_files_that_are_named_are_found(page) -> None:
    """A name in backticks is the end of one path, and of no other (x.py is what a recipe makes)."""
    files = [
        path.relative_to(ROOT).as_posix()
        for top in ("grammarlm", "tests", "benchmarks")
        for path in (ROOT / top).rglob("*.py")
    ]
    for name in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8")):
        if "x" not in re.split(r"[/.]", name):
            assert len([file for file in files if f"/{file}".endswith(f"/{name}")]) == 1, name


def test_all_pages_are_in_the_navigation() -> None:
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert named == {page.relative_to(SITE).as_posix() for page in SITE.rglob("*.md")}


def test_the_front_pages_are_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 140


def test_the_guide_is_short() -> None:
    """What it need not say stands in the reference."""
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in (SITE / "guide").glob("*.md")) < 12_000


def test_the_reference_has_all_public_names() -> None:
    objects = re.findall(r"^::: ([\w.]+)", (SITE / "reference" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {path.rpartition(".")[2]: path.rpartition(".")[0] for path in objects}
    homes = {name: f"grammarlm.{home}" for name, home in gl._HOME.items()}
    assert homes.items() <= named.items()


def test_the_reference_has_all_keywords_formats_and_limits() -> None:
    support = (SITE / "reference" / "support.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([^`]+)`", support))
    assert words >= KEYWORDS
    assert words >= FORMATS
    for name, sentence in CHECKED.items():
        assert f"| `{name}` | {sentence} |" in support
    limits = (SITE / "reference" / "limits.md").read_text(encoding="utf-8")
    for field in fields(gl.Limits):
        default = "" if field.default is None else f"{field.default:,.0f}"
        assert f"| `{field.name}` | {default}" in limits


def test_the_reference_has_all_systems_that_have_a_name() -> None:
    said = (SITE / "reference" / "systems.md").read_text(encoding="utf-8")
    assert set(re.findall(r'"(\w+)"', said)) >= {*METHODS, *DRAFTERS, *TREES, *ACCEPTANCE, *SAMPLERS}
    assert set(re.findall(r"`(\w+)[`(]", said)) >= OBJECTS.keys()


def test_each_table_is_stored_once_and_belongs_to_its_figures() -> None:
    seen = []
    for page in sorted(FIGURES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, body in re.findall(r"<!-- figures: (\w+) -->\n(.*?)\n<!-- end -->", text, flags=re.DOTALL):
            seen.append(name)
            assert not (RESULTS / f"{name}.md").exists(), f"{name} is a part of {page.name}"
            if name != "grammar_ratios":  # of the figures of grammar_masks
                figures = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
                assert figures.get("date", "") in body
                assert figures.get("command", "") in body
            words = re.findall(r"Command: `(.+?)`", body)[0].split()
            if words[:2] == ["grammarlm", "bench"]:
                assert words[2] in BENCHES
            else:  # python -m benchmarks.NAME ...
                module = ROOT / words[2].replace(".", "/")
                assert module.with_suffix(".py").exists() or (module / "__main__.py").exists()
    assert len(seen) == len(set(seen)) >= 15


def test_texts_say_what_the_last_run_found() -> None:
    words = front_page.words()
    said = [
        pair
        for page in TEXTS
        for pair in re.findall(r"<!-- figures: (\w+\.\w+) -->(.*?)<!-- end -->", page.read_text(encoding="utf-8"))
    ]
    assert {name for name, _ in said} == words.keys()
    for name, text in said:
        assert text == words[name]
    assert front_page.PICTURE.read_text(encoding="utf-8") == front_page.picture()


def test_the_readme_has_no_other_figures_of_speed() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.sub(r"<!-- figures: [\w.]+ -->.*?<!-- end -->", "", readme, flags=re.DOTALL)
    assert not re.findall(r"\d *(?:ms|us|%)", said)


def test_the_first_example_runs_with_the_embedded_model_in_place_of_what_it_downloads(monkeypatch, capsys) -> None:
    model, tokenizer = gl.load_tiny()
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda name: model)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda name: tokenizer)
    first = examples(ROOT / "README.md")[0]
    names: dict[str, Any] = {"__name__": "__example__"}
    exec(first.text, names)
    assert isinstance(names["out"].value, names["Order"])


def test_building_the_site_hides_nothing() -> None:
    """Neither warnings, nor that signatures stay on one line: mkdocstrings wraps them where it finds ruff or black."""
    recipe = re.search(r"^docs: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert recipe
    assert "--strict" in recipe[1]
    assert not re.search("quiet|WARNING", recipe[1])
    extra = re.search(r"^docs = \[(.*)\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert extra
    assert "ruff" in extra[1]


def test_the_reference_names_what_there_is() -> None:
    """Before the site is built, which collects them and fails."""
    names = re.findall(r"^::: ([\w.]+)$", "\n".join(page.read_text() for page in SITE.rglob("*.md")), re.MULTILINE)
    assert len(names) > 10
    for name in names:
        module, _, inner = name.rpartition(".")
        assert hasattr(importlib.import_module(module), inner), name
