"""Docstrings as Markdown: paragraphs that are tables by columns (`name   what it means`) keep their columns, as blocks of code.

Functions that take the settings of generate() show them, as `inspect.signature` does.
"""

import inspect
import re
from importlib import import_module

import griffe

ROW = re.compile(r"\S.*?\S? {2,}\S")  # a word or two, two blanks or more, and what is said of it


class Columns(griffe.Extension):
    """Fences the tables of every docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


class Settings(griffe.Extension):
    """The keywords of `@with_settings` functions."""

    def on_function(self, *, func: griffe.Function, **kwargs: object) -> None:
        if any(str(one.value) == "with_settings" for one in func.decorators):
            module, _, name = func.path.rpartition(".")
            shown = inspect.signature(getattr(import_module(module), name))
            func.parameters = griffe.Parameters(*map(parameter, shown.parameters.values()))


def parameter(one: inspect.Parameter) -> griffe.Parameter:
    kind = griffe.ParameterKind(one.kind.description)
    default = None if one.default is one.empty else repr(one.default)
    return griffe.Parameter(one.name, annotation=one.annotation, kind=kind, default=default)


def fenced(text: str) -> str:
    """The docstring with a fence around each paragraph that has columns."""
    paragraphs = re.split(r"\n{2,}", text)
    return "\n\n".join(f"```text\n{one}\n```" if is_table(one) else one for one in paragraphs)


def is_table(paragraph: str) -> bool:
    lines = paragraph.splitlines()
    return "```" not in paragraph and not lines[0].startswith((" ", "|")) and any(map(ROW.match, lines))
