"""Statements become definitions: imported files are read, %override, %extend and %ignore are applied, names are checked.

A name in an imported file gets the file's name before it (python.expr: python__expr), unless it is what is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.lark.text import (
    Alternatives,
    Code,
    Definition,
    Import,
    LarkText,
    Name,
    Use,
    is_terminal,
    read_lark,
)

from .budget import Budget
from .shipped import shipped

Mangle = Callable[[str], str]
SHIPPED = ("common", "lark", "python", "unicode")  # the grammars in lark's own package


@dataclass(eq=False)
class Named:
    """A rule or terminal under the name that it has in the whole grammar. `code` is None where it is only declared."""

    name: str
    at: int
    is_terminal: bool
    code: list[Code] | None
    priority: int = 0
    keeps_all: bool = False
    parameters: tuple[str, ...] = ()  # of a template
    uses: dict[str, Named] = field(default_factory=dict)  # of a terminal: what the names in its body stand for


@dataclass(eq=False)
class Scope:
    """The definitions of one file."""

    budget: Budget
    mangle: Mangle | None = None  # of an imported file
    named: dict[str, Named] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)

    def define(self, body: Definition) -> None:
        mangle = self.mangle
        name = body.name if mangle is None else mangle(body.name)
        before = self.named.get(name)
        if body.how in {"%override", "%extend"}:
            if before is None:
                raise self.budget.error(f"{body.how}: {body.name} is not defined before", body.at)
        elif before is not None:
            raise self.budget.error(f"{body.name} is defined twice", body.at)
        code: list[Code] | None = body.code
        parameters = body.parameters
        if body.how == "%declare":
            code = None
        elif mangle is not None:
            code = [op._replace(name=mangle(op.name)) if isinstance(op, Name | Use) else op for op in body.code]
            parameters = tuple(map(mangle, parameters))
        if before is not None and body.how == "%extend":
            self.extend(before, body, parameters)
        else:
            self.named[name] = Named(
                name, body.at, is_terminal(body.name), code, body.priority, body.keeps_all, parameters
            )

    def extend(self, before: Named, body: Definition, parameters: tuple[str, ...]) -> None:
        """The new alternatives come first. An imported terminal's are those of all that use it, too."""
        if before.parameters != parameters:
            raise self.budget.error(f"%extend: {body.name} has other parameters than before", body.at)
        if before.code is None:
            raise self.budget.error(f"%extend: {body.name} is declared, not defined before", body.at)
        if before.is_terminal != is_terminal(body.name):
            raise self.budget.error(f"%extend: {body.name} is a rule here, and a terminal where it comes from", body.at)
        last = before.code[-1]
        assert isinstance(last, Alternatives)
        before.code = [*body.code, *before.code[:-1], last._replace(length=last.length + 1)]

    def ignore(self, body: Definition) -> None:
        """A terminal's name is ignored as such; what else there is becomes a terminal of its own."""
        match body.code:
            case [Name(name), _, _] if is_terminal(name):
                self.ignored.append(name)
            case _:
                name = f"__IGNORE_{len(self.ignored)}"
                self.ignored.append(name)
                self.named[name] = Named(name, body.at, True, body.code)

    def settle_terminals(self) -> None:
        """What a terminal uses is settled in the file that it is in: an %override elsewhere changes nothing there."""
        for one in self.named.values():
            for op in one.code or () if one.is_terminal else ():
                if isinstance(op, Name) and op.name not in one.uses and op.name in self.named:
                    one.uses[op.name] = self.named[op.name]


def read_scope(found: LarkText, start: str, budget: Budget) -> Scope:
    """The definitions of a grammar, whose names are checked."""
    scope = read_file(found, budget, None)
    for body in found.definitions:
        budget.tick()
        check_parameters(body, scope)
        is_a_terminal, parameters = is_terminal(body.name), body.parameters
        for op in body.code:
            if isinstance(op, Name | Use) and op.name not in parameters:
                check_name(op, body, is_a_terminal, scope)
    named = scope.named.get(start)
    if named is None or is_terminal(start):
        raise budget.error(f"the grammar has no rule {start!r} to start with", len(budget.text))
    if named.parameters:
        raise budget.error(f"{start} is a template and cannot be the start", named.at)
    return scope


def check_parameters(body: Definition, scope: Scope) -> None:
    for place, parameter in enumerate(body.parameters):
        if parameter in scope.named:
            raise scope.budget.error(f"parameter {parameter} of {body.name} has the name of a rule", body.at)
        if parameter in body.parameters[:place]:
            raise scope.budget.error(f"{body.name} has two parameters {parameter}", body.at)


def check_name(op: Name | Use, body: Definition, is_a_terminal: bool, scope: Scope) -> None:
    used = scope.named.get(op.name)
    if is_a_terminal and not is_terminal(op.name):
        raise scope.budget.error(f"terminal {body.name} uses rule {op.name}; only rules may use rules", op.at)
    if used is None:
        kind = "terminal" if is_terminal(op.name) else "template" if isinstance(op, Use) else "rule"
        raise scope.budget.error(f"{kind} {op.name} is used but not defined", op.at)
    if used.is_terminal != is_terminal(op.name):
        kinds = ("terminal", "rule") if used.is_terminal else ("rule", "terminal")
        message = f"{op.name} is a {kinds[0]} where it is imported from, and has the name of a {kinds[1]} here"
        raise scope.budget.error(message, op.at)
    if isinstance(op, Use) and op.length != len(used.parameters):
        message = f"{op.name} takes {len(used.parameters)} arguments, {op.length} are given"
        raise scope.budget.error(message, op.at)


def read_file(found: LarkText, budget: Budget, mangle: Mangle | None) -> Scope:
    """The definitions of a file; what is ignored in an imported one, which has a `mangle`, does not matter."""
    scope = Scope(budget, mangle)
    files: dict[tuple[str, ...], tuple[Import, dict[str, str]]] = {}
    for statement in found.imports:
        file = ".".join(statement.path)
        if statement.relative or file not in SHIPPED:
            message = f"%import of another file ({'.' * statement.relative}{file}) is not supported; only {', '.join(SHIPPED)} are"
            raise budget.error(message, statement.at, UnsupportedFeature)
        names = files.setdefault(statement.path, (statement, {}))[1]
        names.update(zip(statement.originals, statement.names, strict=True))
    for path, (statement, names) in files.items():
        for name, one in read_import(path, names, mangle, budget).items():
            if name in scope.named:
                raise budget.error(f"{name} is imported twice", statement.at)
            scope.named[name] = one
    for body in found.definitions:
        if body.how != "%ignore":
            scope.define(body)
        elif mangle is None:
            scope.ignore(body)
    scope.settle_terminals()
    return scope


def read_import(path: tuple[str, ...], names: dict[str, str], outer: Mangle | None, budget: Budget) -> dict[str, Named]:
    """What is imported from a file, and the rules that it needs."""
    prefix = "__".join(path)

    def mangle(name: str) -> str:
        apart = f"_{prefix}__{name[1:]}" if name.startswith("_") else f"{prefix}__{name}"
        name = names.get(name, apart)
        return name if outer is None else outer(name)

    named = read_file(statements("/".join(path) + ".lark"), budget, mangle).named
    used = dict.fromkeys(map(mangle, names))
    waiting = [*used]
    for name in waiting:  # grows during the loop
        definition = named.get(name)
        if definition is None or definition.is_terminal:
            continue
        for op in definition.code or ():
            if isinstance(op, Name | Use) and op.name not in definition.parameters and op.name not in used:
                used[op.name] = None
                waiting.append(op.name)
    return {name: definition for name, definition in named.items() if name in used}


@cache
def statements(file: str) -> LarkText:
    """Of a file of lark's package: there are four."""
    return read_lark(shipped(file), max_depth=64, max_pieces=100_000, tick=lambda: None)
