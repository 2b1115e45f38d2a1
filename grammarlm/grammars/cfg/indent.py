"""Indentation-based blocks, as in lark's Indenter.

At the end of a line (a lexeme of the newline terminal) the column of the next line determines which extra tokens the parser gets:
one that opens a block where the line is indented further than its block, one that closes for each block it leaves. Within brackets
line ends are dropped. The widths of the open blocks are on the parser's stack, so nesting depth is not limited.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Indent:
    """The names of the terminals that delimit blocks; by default those of python.lark."""

    newline: str = "_NEWLINE"
    indent: str = "_INDENT"
    dedent: str = "_DEDENT"
    opens: tuple[str, ...] = ("LPAR", "LSQB", "LBRACE")
    closes: tuple[str, ...] = ("RPAR", "RSQB", "RBRACE")
    tab: int = 8  # columns of a tab

    def __post_init__(self) -> None:
        for name in ("newline", "indent", "dedent"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"Indent({name}=...) takes a terminal's name, not {type(getattr(self, name)).__name__}")
        for name in ("opens", "closes"):
            names = getattr(self, name)
            if not isinstance(names, tuple) or not all(isinstance(each, str) for each in names):
                raise TypeError(f"Indent({name}=...) takes a tuple of terminals' names, not {names!r:.60}")
        if type(self.tab) is not int:
            raise TypeError(f"Indent(tab=...) takes a number of columns, not {type(self.tab).__name__}")
        if self.tab < 0:
            raise ValueError(f"Indent(tab={self.tab}): a tab takes 0 columns or more")


WIDEST = 1023  # most columns of indentation; a text's lines are not indented further, and the report says so
EMPTY_LINE = -1  # no line has ended yet in this lexeme
SPACE, TAB, LINE_END = 1 << 32, 1 << 9, 1 << 10  # bytes, as sets


def column_after(column: int, part: int, tab: int) -> int:
    """The column after a byte of the newline terminal; only these three bytes change it."""
    if part & LINE_END:
        return 0
    if column < 0:
        return column
    return column + (1 if part & SPACE else tab if part & TAB else 0)
