"""Parsers that share nothing with the grammars of the library: what each language itself says of a text.

`KNOWS[name](text)` is True where the language has the text. SMILES has a small reader here; C and Go ask `cc` and `gofmt`, and are
missing from the table on a machine without them.
"""

import ast
import csv
import html.parser
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import yaml

SYNTAX_FAULTS = (
    "syntax error",
    "unrecognized token",
    "incomplete input",
    "should come after",
    "NATURAL join may not",
    "null character",
    "one statement at a time",
)


def json_knows(text: str) -> bool:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def arithmetic_knows(text: str) -> bool:
    """In brackets, because Python takes no blank at the start of a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(f"({text}\n)", "<text>", "eval", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def python_knows(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            ast.parse(text)
    except SyntaxError:
        return False
    return True


def sqlite_knows(text: str) -> bool:
    """Missing tables and columns are none of a grammar's business, and neither is the depth of SQLite's stack."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(text)
    except (sqlite3.Error, sqlite3.Warning) as error:
        fault = str(error)
        return fault.startswith("no such ") or not any(words in fault for words in SYNTAX_FAULTS)
    except ValueError:  # Python 3.10 on a null character
        return False
    finally:
        connection.close()
    return bool(text.strip())


def csv_records(text: str) -> list[list[str]]:
    """The records of a text; an empty line is one that holds one empty field."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    return [row or [""] for row in rows]


def csv_knows(text: str) -> bool:
    try:
        csv_records(text)
    except csv.Error:
        return False
    return True


def yaml_knows(text: str) -> bool:
    """As text alone: the base loader makes strings of all scalars, where 2024-99-99 is no failed date."""
    try:
        yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError:
        return False
    return True


class _Nesting(html.parser.HTMLParser):
    VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] = []
        self.is_sound = True

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.is_sound = False

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.is_sound = self.is_sound and tag in self.VOID

    def handle_data(self, data: str) -> None:
        self.is_sound = self.is_sound and "<" not in data  # what looks like no tag is data for this reader


def html_knows(text: str) -> bool:
    """Whether every tag is closed in its turn, as Python's reader sees tags."""
    reader = _Nesting()
    reader.feed(text)
    reader.close()
    return reader.is_sound and not reader.open


SMILES_BOND = r"[-=#$:/\\]"
SMILES_RING = re.compile(rf"{SMILES_BOND}?(\d|%\d\d)")
SMILES_LINK = re.compile(rf"{SMILES_BOND}|\.")
SMILES_ATOM = re.compile(
    r"Cl|Br|[BCNOPSFIbcnops*]"
    r"|\[\d*(H|(\*|se|as|[bcnops]|(?!H[^efgos])[A-Z][a-z]?)(@(@|(TH|AL|SP|TB|OH)\d\d?)?)?(H\d?)?)(\+\+|--|[+-]\d{0,2})?(:\d+)?\]"
)


def smiles_knows(text: str) -> bool:
    """Atoms, then each atom's rings, then its branches, each of them a chain in brackets."""
    depth, position, last = 0, 0, "start"
    while position < len(text):
        if found := SMILES_ATOM.match(text, position):
            last = "atom"
        elif found := SMILES_RING.match(text, position):
            if last not in ("atom", "ring"):
                return False
            last = "ring"
        elif found := SMILES_LINK.match(text, position):
            if last in ("start", "bond"):
                return False
            last = "bond"
        elif text[position] == "(" and last in ("atom", "ring", "closed"):
            depth, last = depth + 1, "open"
        elif text[position] == ")" and depth and last in ("atom", "ring", "closed"):
            depth, last = depth - 1, "closed"
        else:
            return False
        position = found.end() if found else position + 1
    return depth == 0 and last in ("atom", "ring", "closed")


def c_knows(text: str) -> bool:
    """Names are declared ahead, or the compiler guesses that a * b declares b; headers are taken out, they need not exist."""
    text = re.sub(r"(?m)^[ \t]*#[ \t]*include[^\n]*", "", text)
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", " ", text, flags=re.DOTALL)
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*", code)) - C_KEYWORDS)
    known = f"enum {{ {', '.join(names)} }};\n" if names else ""
    command = ["cc", "-fsyntax-only", "-w", "-std=c11", "-xc", "-"]
    english = {**os.environ, "LC_ALL": "C"}
    run = subprocess.run(command, input=(known + text).encode(), capture_output=True, check=False, env=english)
    return not re.search(C_FAULTS, run.stderr.decode())


C_FAULTS = "error: (expected|unterminated|missing term|stray|invalid (suffix|digit)|too many decimal|two or more data types|both )"
C_KEYWORDS = set(
    re.findall(
        r"\w+",
        "_Bool break case char const continue default do double else enum float for if int long return short signed sizeof static"
        " struct switch unsigned void while",
    )
)


def go_knows(text: str) -> bool:
    """From a file: on its standard input gofmt takes bare statements too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.go"
        path.write_bytes(text.encode())
        return subprocess.run(["gofmt", "-e", path], capture_output=True, check=False).returncode == 0


KNOWS: dict[str, Callable[[str], bool]] = {
    "arithmetic": arithmetic_knows,
    "csv": csv_knows,
    "html": html_knows,
    "json": json_knows,
    "python": python_knows,
    "smiles": smiles_knows,
    "sqlite": sqlite_knows,
    "yaml": yaml_knows,
}
if shutil.which("cc"):
    KNOWS["c"] = c_knows
if shutil.which("gofmt"):
    KNOWS["go"] = go_knows
