"""A text with holes, each of which is a grammar and has a name.

    out = generate(model, prompt, grammar=Template("Name: {name}, age {age}.", name=Regex("[A-Z][a-z]+"), age=int))
    out["age"], out.value           33, {"name": "Way", "age": 33}

A hole is a grammar, choices (a list of texts, or of integers), or what JsonSchema takes: a type or a schema, whose JSON stands
there, a string in its quotes. Braces are written `{{` and `}}`. The value of a template is a dict of its holes' values, also where
it is a part of another grammar: of a Repeat a list of them.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grammarlm.errors import brief
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import Term

from .capture import Capture
from .choices import Choices
from .compose import Grammar, Literal, check_grammar
from .derived import sequence
from .json_schema.schema import JsonSchema
from .json_schema.types.python_types import is_python_type


@dataclass(frozen=True, init=False, repr=False)
class Template(Grammar):
    """Literals, and captures between them."""

    parts: tuple[Grammar, ...]

    def __init__(self, text: str, /, **holes: Any):
        if not isinstance(text, str):
            raise TypeError(f"Template(text, **holes) takes a text, not {type(text).__name__}")
        parts, left = list[Grammar](), dict(holes)
        for literal, name in _pieces(text):
            parts += [Literal(literal)] if literal else []
            if name is None:
                continue
            if name not in holes:
                raise ValueError(
                    f"Template: nothing says what the hole {{{name}}} may be; give {name}=, a grammar or a type"
                )
            if name not in left:
                raise ValueError(f"Template: the hole {{{name}}} stands there twice; give each its own name")
            parts.append(Capture(name, _hole(name, left.pop(name))))
        if left:
            name = next(iter(left))
            raise ValueError(f"Template: {name}= is given, and the text has no hole {{{name}}}")
        object.__setattr__(self, "parts", tuple(parts))

    @classmethod
    def from_saved(cls, parts: tuple[Grammar, ...]) -> Template:
        made = object.__new__(cls)
        object.__setattr__(made, "parts", parts)
        return made

    def __repr__(self) -> str:
        shown = ("{" + part.name + "}" if isinstance(part, Capture) else _escaped(part) for part in self.parts)
        return f"Template({brief(''.join(shown), 100)})"

    @property
    def operands(self) -> tuple[Grammar, ...]:
        return self.parts

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        return Template.from_saved(operands)

    @cached_property
    def part(self) -> Grammar:
        """What it stands for."""
        return sequence(self.parts)

    def language(self, algebra: Algebra) -> Term:
        return self.part.language(algebra)


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Literals, each with the name of the hole after it."""
    try:
        found = list(string.Formatter().parse(text))
    except ValueError as error:  # a brace without the other
        raise ValueError(f"Template({brief(text)}): {error}; a brace of the text is written {{{{ or }}}}") from None
    for literal, name, form, conversion in found:
        if conversion or form:
            what = f"!{conversion}" if conversion else f":{form}"
            raise ValueError(
                f"Template: the hole {{{name}{what}}} has {what!r:.40}, and a hole is written as its grammar says; write {{{name}}}"
            )
        if name is not None and not name.isidentifier():
            raise ValueError(
                f"Template: {{{name}}} is no hole: it has a name of letters, digits and _, such as {{age}}; "
                "a brace of the text is written {{ or }}"
            )
        yield literal, name


def _hole(name: str, given: Any) -> Grammar:
    if isinstance(given, (list, tuple, range)):
        given = list(given)
        if given and all(isinstance(one, int) and not isinstance(one, bool) for one in given):
            return JsonSchema({"type": "integer", "enum": list(given)}, integers="plain")
        return Choices(given)  # type: ignore[arg-type]  # which says what is wrong
    if isinstance(given, Grammar):
        return given
    is_grammar = isinstance(given, type) and issubclass(given, Grammar)
    if isinstance(given, (dict, bool)) or (is_python_type(given) and not is_grammar):
        return JsonSchema(given)
    check_grammar(given, f"Template({name}=...)")
    raise AssertionError("unreachable")


def _escaped(part: Grammar) -> str:
    return part.text.replace("{", "{{").replace("}", "}}") if isinstance(part, Literal) else "..."


def has_template(grammar: Grammar | None) -> bool:
    """Is it a template, or is one a part of it?"""
    waiting, seen = [grammar] if grammar is not None else [], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, Template):
            return True
        if id(part) not in seen:
            seen.add(id(part))
            waiting += part.operands
    return False
