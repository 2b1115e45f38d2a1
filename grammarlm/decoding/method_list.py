"""gl.methods: what `method=` of generate() takes, by what one wants of it.

    gl.methods                      # in a session: all methods, by purpose, a sentence each
    gl.methods["vote"]              # idea, example, what it costs, whose law it follows, when it is of no use, source
    gl.methods["vote"].law

All of it is the docstring at the top of the method's file, read from the source: nothing is imported, and `python -OO` has it, too.
The paragraph that is taken apart reads

    Purpose: more often right. Forwards: one a token. Law: its own. Not where time matters.

Purposes are those of PURPOSES; a method that names none of
them stands among OTHERS.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import dropwhile, takewhile

from .systems import METHODS

PURPOSES = (
    "the default",
    "more often right",
    "several answers",
    "the model's own law",
    "steered by another model",
)
OTHERS = "others"
TITLE = re.compile(r'(?:method="\w+"|[^:]*): (.*)')  # and then the idea
FACTS = re.compile(r"(?:Purpose: (.*?)\. )?Forwards: (.*?) Law: (.*?) (Not (?<=\. Not ).*)")
WIDTH = 100


@dataclass(frozen=True, repr=False)
class Method:
    """What is said of a method of generate().

    `purpose`    one of PURPOSES, or "others"
    `idea`       a sentence
    `example`    code
    `forwards`   what it costs
    `law`        which law its answers follow
    `unfit`      when to take another one: "Not where ..."
    `source`     the publication; empty where one would find it without having read any
    `text`       all that its file says, these and its options among it
    """

    name: str
    purpose: str
    idea: str
    example: str
    forwards: str
    law: str
    unfit: str
    source: str
    text: str

    @classmethod
    def of(cls, name: str, text: str) -> Method:
        """Reads a docstring; what it does not have is empty."""
        paragraphs = text.split("\n\n")
        title = TITLE.fullmatch(joined(paragraphs[0]))
        facts = next(filter(None, map(FACTS.fullmatch, map(joined, paragraphs))), None)
        purpose, forwards, law, unfit = facts.groups() if facts else (OTHERS, "", "", "")
        sources = [joined(one) for one in paragraphs if re.match(r"Sources?\b", one)]
        return cls(
            name,
            purpose if purpose in PURPOSES else OTHERS,
            title[1] if title else joined(paragraphs[0]),
            textwrap.dedent("\n\n".join(takewhile(is_code, dropwhile(lambda one: not is_code(one), paragraphs)))),
            forwards,
            law,
            unfit,
            " ".join(sources),
            text,
        )

    def __repr__(self) -> str:
        return self.text


class Methods(Mapping[str, Method]):
    """All methods by name; as a text, all of them by purpose."""

    def __getitem__(self, name: str) -> Method:
        if name not in METHODS:
            raise KeyError(f"there is no method {name!r:.60}; there are {', '.join(METHODS)}")
        return Method.of(name, docstring(METHODS[name].partition(":")[0]))

    def __iter__(self) -> Iterator[str]:
        return iter(METHODS)

    def __len__(self) -> int:
        return len(METHODS)

    def by_purpose(self) -> dict[str, list[Method]]:
        """The methods of each purpose, in the order of METHODS."""
        known = list(self.values())
        found = {purpose: [one for one in known if one.purpose == purpose] for purpose in (*PURPOSES, OTHERS)}
        return {purpose: each for purpose, each in found.items() if each}

    def __repr__(self) -> str:
        longest = max(map(len, METHODS)) + 4
        lines = []
        for purpose, each in self.by_purpose().items():
            lines.append(f"{purpose}:")
            for one in each:
                first = f"  {one.name:<{longest}}"
                lines += textwrap.wrap(
                    one.idea, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
                )
        return "\n".join(lines)


methods = Methods()


def is_code(paragraph: str) -> bool:
    return paragraph.startswith("    ")


def joined(paragraph: str) -> str:
    """As one line."""
    return " ".join(paragraph.split())


@cache
def docstring(module: str) -> str:
    """Of a module of ours, by its name below `grammarlm`."""
    source = files("grammarlm").joinpath(*module.split("."))
    text = source.with_name(f"{source.name}.py").read_text(encoding="utf-8")  # type: ignore[attr-defined]
    return ast.get_docstring(ast.parse(text)) or ""
