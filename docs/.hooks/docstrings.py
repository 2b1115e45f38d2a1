"""Docstrings as Markdown: paragraphs that are tables by columns (`name   what it means`) keep their columns, as blocks of code."""

import re

import griffe

ROW = re.compile(r"\S.*?\S? {2,}\S")  # a word or two, two blanks or more, and what is said of it


class Columns(griffe.Extension):
    """Fences the tables of every docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The docstring with a fence around each paragraph that has columns."""
    paragraphs = re.split(r"\n{2,}", text)
    return "\n\n".join(f"```text\n{one}\n```" if is_table(one) else one for one in paragraphs)


def is_table(paragraph: str) -> bool:
    lines = paragraph.splitlines()
    return "```" not in paragraph and not lines[0].startswith((" ", "|")) and any(map(ROW.match, lines))
