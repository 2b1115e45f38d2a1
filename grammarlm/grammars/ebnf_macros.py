r"""The macros of xgrammar's EBNF: Token(1, 2) and Regex("..."). The others are known by name, and refused.

A Regex() is handed on as Python's `re` would read it. xgrammar reads regular expressions its own way (anchors in the middle of a
pattern are nothing to it, `a++` is no possessive repeat, `{` needs a number), so what passes is what both read alike: characters,
classes, `.`, groups, alternatives, repeats, \d \w \s, and ^ and $ at the very ends, where they say nothing.
"""

from __future__ import annotations

import re

from ..errors import UnsupportedFeature
from .ebnf_scanner import COMMENT, LAST_TOKEN, SPACE, Scanner
from .rules import Alternatives, Node, Pattern, Token

MACROS = {"TagDispatch", "Token", "TokenTagDispatch", "ExcludeToken", "Regex", "Substring"}

_STRING = r'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"'

# A call with its arguments, as one token; a reader puts it into a verbose pattern.
MACRO_CALL = rf"""(?:Token|Regex) {SPACE} \( (?: [^()"\#] | {_STRING} | {COMMENT}[\r\n] )* \)"""

_IDS = re.compile(rf"Token{SPACE}\({SPACE}([0-9]+{SPACE}(?:,{SPACE}[0-9]+{SPACE})*)\)")
_REGEX = re.compile(
    rf"Regex{SPACE}\({SPACE}({_STRING}){SPACE}"
    rf"((?:,{SPACE}(?:flags{SPACE}={SPACE}{_STRING}|json_string{SPACE}={SPACE}(?:true|false)){SPACE})*)\)"
)
_OPTION = re.compile(rf",{SPACE}(flags|json_string){SPACE}={SPACE}({_STRING}|true|false){SPACE}")

_ESCAPE = r"\\(?:[dDwWsSnrtfv]|x[0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[!-/:-@\[-`{-~])"
_LEXEME = re.compile(
    rf"""(?P<repeat> (?: [*+?] | \{{[0-9]+(?:,[0-9]*)?\}} ) \?? )
       | (?P<bracket> \((?:\?:)? | \| )
       | (?P<item> {_ESCAPE} | [^\\^$|?*+()\[\]{{}}] | \) | \[(?!\^?\])\^?(?:{_ESCAPE}|[^\\\]])+\] )""",
    re.VERBOSE | re.DOTALL,
)


def read_macro(scanner: Scanner, name: str, token: str, at: int) -> Node:
    """The node of a macro; `token` is the whole call, or the name alone where no call was seen."""
    if name == "Token":
        return _token(scanner, token, at)
    if name == "Regex":
        return _regex(scanner, token, at)
    raise scanner.error(f"{name}() is not supported", at, UnsupportedFeature)


def _token(scanner: Scanner, token: str, at: int) -> Node:
    call = _IDS.match(token)
    if call is None:
        raise scanner.error("Token() takes ids of tokens: Token(128010), Token(1, 2)", at)
    arguments = re.sub(COMMENT, "", call.group(1))
    ids = {scanner.number(digits, "this token's id", at) for digits in re.findall("[0-9]+", arguments)}
    if max(ids) > LAST_TOKEN:
        raise scanner.error(f"no token has the id {max(ids)}", at)
    tokens = tuple(Token(i, at) for i in sorted(ids))
    return tokens[0] if len(tokens) == 1 else Alternatives(tokens)


def _regex(scanner: Scanner, token: str, at: int) -> Node:
    call = _REGEX.match(token)
    if call is None:
        raise scanner.error('Regex() takes a pattern and perhaps flags: Regex("[0-9]+"), Regex("[a-f]", flags="i")', at)
    letters = "s"  # without flags . is any character, with flags only an s makes it so
    for option in _OPTION.finditer(token, *call.span(2)):
        name, value = option.groups()
        if name == "flags":
            letters = _flags(scanner, scanner.string(value, at + option.start(2)), at)
        elif value == "true":
            raise scanner.error("Regex() with json_string=true is not supported", at, UnsupportedFeature)
    pattern = _common(scanner, scanner.string(call.group(1), at + call.start(1)), at)
    return Pattern(f"(?{letters}:{pattern})" if letters else pattern, at)


def _flags(scanner: Scanner, flags: str, at: int) -> str:
    unknown = set(flags) - set("isu")
    if unknown:
        raise scanner.error(f"unknown flag {min(unknown)!r} of Regex(); there are i, s and u", at)
    return "".join(sorted(set(flags) & set("is")))  # u is what a pattern is anyway


def _common(scanner: Scanner, pattern: str, at: int) -> str:
    """The pattern without ^ and $ at its ends, if nothing in it is read in two ways."""
    place = 1 if pattern.startswith("^") else 0
    begin, repeatable = place, False
    while place < len(pattern):
        if not place & 255:
            scanner.tick()
        if pattern[place] == "$" and place == len(pattern) - 1:
            break
        lexeme = _LEXEME.match(pattern, place)
        if lexeme is None or (lexeme.lastgroup == "repeat" and not repeatable):
            raise scanner.error(
                f"Regex() with {pattern[place : place + 20]!r} at position {place} is not supported: "
                "only what xgrammar and Python read alike is",
                at,
                UnsupportedFeature,
            )
        repeatable = lexeme.lastgroup == "item"
        place = lexeme.end()
    return pattern[begin:place]
