"""The registry of notations: every kind is found by its name, and a new one is one file and one line."""

import dataclasses
import sys

import pytest

import grammarlm as gl
from grammarlm.commands.grammar_arguments import read_arguments
from grammarlm.grammars import registry
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term
from grammarlm.masks.saved import codec
from tests.texts import BYTES


@dataclasses.dataclass(frozen=True, repr=True)
class Wildcards(Grammar):
    """File name patterns: * is any bytes but /, ? one of them. A toy notation."""

    pattern: str

    def language(self, algebra: Algebra) -> Term:
        source = "".join({"*": "[^/]*", "?": "[^/]"}.get(c, "\\" + c if not c.isalnum() else c) for c in self.pattern)
        return gl.Regex(source).language(algebra)


def test_every_kind_is_found_by_its_name() -> None:
    for name in registry.KINDS:
        assert registry.class_of(name) is getattr(gl, name)
        assert issubclass(registry.class_of(name), Grammar)


@pytest.mark.parametrize("name", [name for name, kind in registry.KINDS.items() if kind.example])
def test_the_shortest_example_of_a_notation_compiles(name: str) -> None:
    kind = registry.KINDS[name]
    assert registry.notation_of(f"folder/x{kind.suffix}") == name
    gl.compile(registry.class_of(name)(kind.example), BYTES)


def test_unknown_names() -> None:
    with pytest.raises(KeyError):
        registry.class_of("Grammar")
    assert registry.notation_of("grammar.txt") is None
    assert codec.kind_of("Grammar") is None


def test_a_new_notation_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setitem(registry.KINDS, "Wildcards", registry.Kind(Wildcards.__module__, ".glob", "a"))
    monkeypatch.setattr(sys.modules[Wildcards.__module__], "Wildcards", Wildcards)
    for cached in (registry.class_of, codec.kind_of):
        cached.cache_clear()
    try:
        matcher = gl.compile(Wildcards("*.p?"), BYTES).matcher()
        assert matcher.advance_bytes(b"a.py")
        assert matcher.is_accepting
        saved = gl.compile(Wildcards("x*"), BYTES).to_bytes()
        assert gl.Constraint.from_bytes(saved, BYTES).grammar == Wildcards("x*")
        assert registry.notation_of("some.glob") == "Wildcards"
        assert ".glob" in registry.suffixes()
    finally:
        for cached in (registry.class_of, codec.kind_of):
            cached.cache_clear()


def test_the_command_line_reads_every_notation(tmp_path, capsys) -> None:
    from grammarlm.cli import main

    for name, kind in registry.KINDS.items():
        if kind.example:
            file = tmp_path / f"grammar{kind.suffix}"
            file.write_text(kind.example + "\n")
            assert main(["check", "--grammar", str(file), "--text", "true" if name == "JsonSchema" else "a"]) == 0
    other = tmp_path / "grammar.txt"
    other.write_text("secret")
    assert main(["check", "--grammar", str(other), "--text", "a"]) == 1
    message = capsys.readouterr().err
    assert ".gbnf" in message
    assert "secret" not in message
    assert callable(read_arguments)
