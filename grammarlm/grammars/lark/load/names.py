"""What lark calls the terminals of strings in rules."""

import unicodedata

STARTS_NAME = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Pc"}  # categories of characters
IN_NAME = STARTS_NAME | {"Nd", "Nl"}
# What lark calls the terminals of strings that are no words.
NAMES = {
    ".": "DOT",
    ",": "COMMA",
    ":": "COLON",
    ";": "SEMICOLON",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "\\": "BACKSLASH",
    "|": "VBAR",
    "?": "QMARK",
    "!": "BANG",
    "@": "AT",
    "#": "HASH",
    "$": "DOLLAR",
    "%": "PERCENT",
    "^": "CIRCUMFLEX",
    "&": "AMPERSAND",
    "_": "UNDERSCORE",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "=": "EQUAL",
    '"': "DBLQUOTE",
    "'": "QUOTE",
    "`": "BACKQUOTE",
    "~": "TILDE",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    "\n": "NEWLINE",
    "\r\n": "CRLF",
    "\t": "TAB",
    " ": "SPACE",
}


def is_word(text: str) -> bool:
    if text.isascii():
        return text.replace("_", "a").isalnum() and not text[0].isdigit()
    kinds = [character == "_" or unicodedata.category(character) for character in text]
    return all(kind is True or kind in IN_NAME for kind in kinds) and (kinds[0] is True or kinds[0] in STARTS_NAME)
