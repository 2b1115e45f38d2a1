"""Languages whose lines open and close blocks by their indentation, as lark's Indenter has it.

At the end of a line (a lexeme of the newline terminal) the column of the next line tells what the parser gets besides: a token that
opens a block where the line is wider than the block it stands in, one that closes for each block it leaves. Within brackets ends of
lines are nothing. What the open blocks' widths are lies on the parser's stack, so a text may be as deep as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Indent:
    """The names of the terminals that make blocks; those of python.lark unless told otherwise."""

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


WIDEST = 1023  # columns of a line's indentation; a text's lines are not indented further, and the report says so
EMPTY_LINE = -1  # no line has ended yet in this lexeme
SPACE, TAB, LINE_END = 1 << 32, 1 << 9, 1 << 10  # bytes, as sets


def column_after(column: int, part: int, tab: int) -> int:
    """The column behind a byte of the newline terminal; None of its bytes but these three moves it."""
    if part & LINE_END:
        return 0
    if column < 0:
        return column
    return column + (1 if part & SPACE else tab if part & TAB else 0)
