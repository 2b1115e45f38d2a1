"""The lowest versions that are declared are those that `make lowest` tests, or that were tried by hand."""

import re
from pathlib import Path

import pytest

from tests.corpus_files import read_toml

ROOT = Path(__file__).parent.parent
NOT_IN_THE_HOST_HALF = {"torch", "transformers", "jinja2"}


def lowest() -> dict[str, str]:
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def declared() -> list[str]:
    project = read_toml(ROOT / "pyproject.toml")["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *optional["torch"], *optional["numba"]]


@pytest.mark.parametrize("requirement", declared())
def test_each_declared_minimum_is_the_one_that_is_tested(requirement: str) -> None:
    name, version = re.fullmatch(r"([a-z0-9-]+)>=([0-9.]+)", requirement).groups()  # type: ignore[union-attr]
    if name in NOT_IN_THE_HOST_HALF:
        assert name not in lowest()
        assert f"#     {name}=={version}" in (ROOT / "constraints-lowest.txt").read_text()
    else:
        assert lowest()[name] == version
