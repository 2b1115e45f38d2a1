"""Statements become definitions: names are resolved, imported files are read, %override and %ignore are applied.

A name in an imported file gets the file's name before it (python.expr: python__expr), unless it is what is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from grammarlm.grammars.lark.guard import is_terminal
from grammarlm.grammars.lark.text import Alternatives, Code, Definition, LarkText, Name, Use, read_lark

from .result import Rare, Symbol
from .shipped import shipped

Mangle = Callable[[str], str]


@dataclass(eq=False)
class Named:
    """A rule or terminal under the name that it has in the whole grammar. `code` is None where it is only declared."""

    name: str
    is_terminal: bool
    code: list[Code] | None
    scope: Scope
    priority: int = 0
    keeps_all: bool = False
    parameters: tuple[str, ...] = ()  # of a template
    arguments: dict[str, Symbol] = field(default_factory=dict)  # of an instance of a template

    def used(self) -> Iterator[str]:
        """The names in its body."""
        for op in self.code or ():
            if isinstance(op, Name | Use) and (name := self.scope.mangle(op.name)) not in self.parameters:
                yield name


@dataclass(eq=False)
class Scope:
    """The definitions of one file. A terminal's body refers to the terminals of the file that it is in."""

    mangle: Mangle
    named: dict[str, Named] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)

    def define(self, body: Definition) -> None:
        name = self.mangle(body.name)
        parameters = tuple(map(self.mangle, body.parameters))
        before = self.named.get(name)
        if name.startswith("__") or (before is not None) != bool(body.how) or len({*parameters}) < len(parameters):
            raise Rare
        if body.how == "%extend":
            assert before is not None
            self.extend(before, body.code, parameters)
        else:
            self.named[name] = Named(
                name, is_terminal(body.name), body.code, self, body.priority, body.keeps_all, parameters
            )

    def extend(self, before: Named, code: list[Code], parameters: tuple[str, ...]) -> None:
        """The new alternatives come first. (An imported terminal's are those of all that use it, too: left to lark.)"""
        if not before.code or before.scope is not self or before.parameters != parameters:
            raise Rare
        last = before.code[-1]
        assert isinstance(last, Alternatives)
        before.code = [*code, *before.code[:-1], last._replace(length=last.length + 1)]

    def declare(self, name: str) -> None:
        if (mangled := self.mangle(name)) in self.named or mangled.startswith("__"):
            raise Rare
        self.named[mangled] = Named(mangled, is_terminal(name), None, self)

    def ignore(self, body: Definition) -> None:
        """A terminal's name is ignored as such; what else there is becomes a terminal of its own."""
        match body.code:
            case [Name(name), _, _] if is_terminal(name):
                self.ignored.append(name)
            case _:
                name = f"__IGNORE_{len(self.ignored)}"
                self.ignored.append(name)
                self.named[name] = Named(name, True, body.code, self)


def read_scope(found: LarkText, mangle: Mangle | None = None) -> Scope:
    """The definitions of a file; what is ignored in an imported one, which has a `mangle`, does not matter."""
    scope = Scope(mangle or str)
    files: dict[tuple[str, ...], dict[str, str]] = {}
    for statement in found.imports:
        if statement.relative:
            raise Rare
        files.setdefault(statement.path, {}).update(zip(statement.originals, statement.names, strict=True))
    for path, names in files.items():
        imported = read_import(path, names, mangle)
        if not scope.named.keys().isdisjoint(imported):
            raise Rare
        scope.named.update(imported)
    for body in found.definitions:
        if body.how != "%ignore":
            scope.define(body)
        elif mangle is None:
            scope.ignore(body)
    for name in found.declared:
        scope.declare(name.name)
    return scope


def read_import(path: tuple[str, ...], names: dict[str, str], outer: Mangle | None) -> dict[str, Named]:
    """What is imported from a file, and the rules that it needs."""
    prefix = "__".join(path)

    def mangle(name: str) -> str:
        apart = f"_{prefix}__{name[1:]}" if name.startswith("_") else f"{prefix}__{name}"
        name = names.get(name, apart)
        return name if outer is None else outer(name)

    scope = read_scope(statements("/".join(path) + ".lark"), mangle)
    used = dict.fromkeys(map(mangle, names))
    waiting = [*used]
    for name in waiting:  # grows during the loop
        definition = scope.named.get(name)
        if definition is None or definition.is_terminal:
            continue
        more = [other for other in definition.used() if other not in used]
        used.update(dict.fromkeys(more))
        waiting += more
    return {name: definition for name, definition in scope.named.items() if name in used}


@cache
def statements(file: str) -> LarkText:
    """Of a file of lark's package: there are four."""
    try:
        text = shipped(file)
    except OSError:
        raise Rare from None
    return read_lark(text, max_depth=64, max_pieces=100_000, tick=lambda: None)
