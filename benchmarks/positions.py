"""What stands before a position: key, string, number, punctuation, identifier, keyword, space, comment, or the start of the text.

A mask depends on what has been read, so a position is named after the piece of text that holds the byte before it. The pieces are
found by one regular expression a corpus, which knows nothing of any grammar.
"""

import re
from bisect import bisect_left

C_WORDS = "int|float|char|void|bool|let|if|else|while|for|return|break|continue|struct|true|false|null"
SQL_WORDS = (
    "SELECT|DISTINCT|FROM|WHERE|GROUP|BY|HAVING|ORDER|LIMIT|OFFSET|AS|INNER|LEFT|RIGHT|JOIN|ON|ASC|DESC"
    "|INSERT|INTO|VALUES|UPDATE|SET|DELETE|OR|AND|NOT|LIKE|IN|IS|NULL|BETWEEN"
)
PYTHON_WORDS = (
    "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if"
    "|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield"
)
SPACE, NAME, REST = r"(?P<space>\s+)", r"(?P<identifier>[^\W\d]\w*)", r"(?P<punctuation>.)"
NUMBER = r"(?P<number>\d[\d.]*(?:[eE][+-]?\d+)?)"
QUOTED = r'"(?:[^"\\]|\\.)*"'
PIECES = {
    "json": [
        SPACE,
        rf"(?P<key>{QUOTED}(?=\s*:))",
        rf"(?P<string>{QUOTED})",
        r"(?P<number>-?\d[\d.eE+-]*)",
        r"(?P<keyword>true|false|null)",
    ],
    "sql": [SPACE, r"(?P<string>'(?:[^']|'')*')", NUMBER, rf"(?P<keyword>(?i:{SQL_WORDS})\b)", NAME],
    "c_like": [
        SPACE,
        r"(?P<comment>//[^\n]*)",
        rf"(?P<string>{QUOTED}|'(?:[^'\\]|\\.)')",
        NUMBER,
        rf"(?P<keyword>(?:{C_WORDS})\b)",
        NAME,
    ],
    "python": [
        SPACE,
        rf"(?P<string>b?(?:\"\"\".*?\"\"\"|'(?:[^'\\]|\\.)*'|{QUOTED}))",
        NUMBER,
        rf"(?P<keyword>(?:{PYTHON_WORDS})\b)",
        NAME,
    ],
    "arithmetic": [SPACE, NUMBER, NAME],
    "settings": [
        SPACE,
        rf"(?P<string>{QUOTED})",
        r"(?P<key>[a-z-]+(?= [^;]*;))",
        r"(?P<number>#?\d[\w.:/%]*)",
        r"(?P<identifier>[\w./@-]+)",
    ],
}


def kinds(corpus: str, text: str, offsets: list[int]) -> list[str]:
    """The kind of each position, given as offsets in the bytes of the text."""
    ends, names, at = [], [], 0
    for piece in re.finditer("|".join([*PIECES[corpus], REST]), text, re.DOTALL):
        at += len(piece[0].encode())
        ends.append(at)
        names.append(piece.lastgroup or "punctuation")
    return [names[bisect_left(ends, offset)] if offset else "start" for offset in offsets]
