"""An engine whose functions are others is refused by name; an unknown version of the same ones gets one line."""

import sys
from types import ModuleType
from typing import Any

import pytest

from grammarlm.integrations.serving.interfaces import check_functions, differences, warn_of_version

EXPECTED = {
    "an_engine.inner:Manager.begin": "self request",
    "an_engine.inner:build": "config more rest",
    "an_engine.inner:Manager.check": "cls params",
}


def engine(source: str) -> ModuleType:
    module = ModuleType("an_engine.inner")
    exec(source, vars(module))
    return module


SAME = """
class Manager:
    def begin(self, request): ...
    @classmethod
    def check(cls, params): ...
def build(config, *more, **rest): ...
"""


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (SAME, []),
        (
            SAME.replace("self, request", "self, request, extra=None"),
            ["Manager.begin takes (self, request, extra), and not"],
        ),
        (SAME.replace("def begin", "def start"), ["there is no function an_engine.inner:Manager.begin"]),
        (SAME.replace("def check(cls, params)", "def check(cls, sampling)"), ["Manager.check takes (cls, sampling)"]),
        (SAME.replace("def build", "def make"), ["there is no function an_engine.inner:build"]),
        ("Manager = build = 3", ["Manager.begin", "inner:build", "Manager.check"]),
    ],
)
def test_what_differs(source: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "an_engine.inner", engine(source))
    different = differences(EXPECTED)
    assert len(different) == len(found)
    assert all(part in one for part, one in zip(found, different, strict=True))
    if not found:
        check_functions("AnEngine", "9.1", ("9.0",), EXPECTED, "Do something else")
        return
    with pytest.raises(RuntimeError, match=r"tested with AnEngine 9.0; in 9.1 .*inner.*\. Do something else$"):
        check_functions("AnEngine", "9.1", ("9.0",), EXPECTED, "Do something else")


def test_a_function_that_is_wrapped_is_still_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in is registered again and again."""
    import functools

    module: Any = engine(SAME)
    before = module.Manager.begin

    @functools.wraps(before)
    def wrapper(*given: Any, **named: Any) -> Any:
        return before(*given, **named)

    module.Manager.begin = wrapper
    monkeypatch.setitem(sys.modules, "an_engine.inner", module)
    assert not differences(EXPECTED)


def test_an_engine_that_is_not_there() -> None:
    assert differences({"no_such_engine:f": "x"}) == ["there is no function no_such_engine:f"]


def test_unknown_versions_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("1.2", "1.2.7", "1.2.0+cpu", "1.20.1", "1.20.1", "1.3.0rc1"):
        warn_of_version("AnEngine", version, ("1.1", "1.2"))
    said = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in said] == [
        "grammarlm: this is AnEngine 1.20.1", "grammarlm: this is AnEngine 1.3.0rc1",
    ]  # fmt: skip
    assert all("tested with 1.1 and 1.2" in line for line in said)
