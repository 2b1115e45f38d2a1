r"""The macros of xgrammar's EBNF: Token(1, 2), ExcludeToken(1, 2), Regex("...") and, in dispatch.py, TagDispatch(...) and
TokenTagDispatch(...). Substring(...) is recognised and refused.

A Regex() is passed on in the syntax of Python's `re`. xgrammar reads regular expressions differently (it ignores anchors in the
middle of a pattern, `a++` is no possessive repeat, `{` needs a number). So only what both read alike, or what can be rewritten for
Python, is accepted: characters and escapes, classes, `.`, groups with and without names, alternatives, repeats, \d \w \s, (?i) at
the beginning, and ^ and $ at the very ends, where they have no effect. What xgrammar refuses too is refused with its reason.

    flags="..."          i: ignore case, in ASCII; s: `.` is any character; u: no effect, patterns are Unicode. Without flags `.` is
                         any character, with flags only an s makes it so
    json_string=true     only texts that fit in a JSON string without an escape: no quote, no backslash, and no character before the
                         space
"""

from __future__ import annotations

import re

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, OtherToken, Pattern, Token
from grammarlm.grammars.regular.charset import LAST

from .dispatch import DISPATCH_CALL, DISPATCHES, STRING, read_dispatch
from .scanner import COMMENT, SPACE, Scanner

MACROS = {*DISPATCHES, "Token", "ExcludeToken", "Regex", "Substring"}

# A call with its arguments as one token, for a reader's verbose pattern.
MACRO_CALL = (
    rf"""(?:Token|ExcludeToken|Regex) {SPACE} \( (?: [^()"\#] | {STRING} | {COMMENT}[\r\n] )* \) | {DISPATCH_CALL}"""
)

_IDS = re.compile(rf"(?:Token|ExcludeToken){SPACE}\({SPACE}([0-9]+{SPACE}(?:,{SPACE}[0-9]+{SPACE})*)\)")
_REGEX = re.compile(
    rf"Regex{SPACE}\({SPACE}({STRING}){SPACE}"
    rf"((?:,{SPACE}(?:flags{SPACE}={SPACE}{STRING}|json_string{SPACE}={SPACE}(?:true|false)){SPACE})*)\)"
)
_OPTION = re.compile(rf",{SPACE}(flags|json_string){SPACE}={SPACE}({STRING}|true|false){SPACE}")

_HEX = "[0-9a-fA-F]"
_BRACED = re.compile(rf"\\u\{{({_HEX}{{1,6}})\}}|\\(e)|\\c([a-zA-Z])|\\.", re.DOTALL)
_CODE = rf"x{_HEX}{{2}}|u(?![dD][89a-fA-F]){_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}"
_ESCAPE = rf"\\(?:[dDwWsSnrtfvae]|0(?![0-9])|c[a-zA-Z]|{_CODE}|[!-/:-@\[-`{{-~])"
_LEXEME = re.compile(
    rf"""(?P<repeat> (?: [*+?] | \{{[0-9]+(?:,[0-9]*)?\}} ) \?? )
       | (?P<bracket> \((?:\?:|\?P?<[a-zA-Z0-9_]+>|(?!\?)) | \| )
       | (?P<item> {_ESCAPE} | [^\\^$|?*+()\[\]{{}}] | \}} | \) | \[(?!\^?\])\^?(?:{_ESCAPE}|\\b|[^\\\]])+\] )""",
    re.VERBOSE | re.DOTALL,
)
IGNORE_CASE = "(?i)"
JSON_CHARACTERS = r'(?=[^"\\\x00-\x1f]*\Z)'

# Everything else with these prefixes is refused, most of it by xgrammar too.
_REASONS = (
    ("\\p", "xgrammar has no Unicode properties; write the characters as ranges: [a-zà-ÿ]"),
    ("\\P", "xgrammar has no Unicode properties; write the characters as ranges: [a-zà-ÿ]"),
    ("\\b", "xgrammar has no word boundaries"),
    ("\\B", "xgrammar has no word boundaries"),
    ("\\k", "a back-reference, which no automaton can follow"),
    *((f"\\{digit}", "a back-reference, which no automaton can follow") for digit in range(1, 10)),
    ("(?=", "xgrammar reads past a look-ahead"),
    ("(?!", "xgrammar reads past a look-ahead"),
    ("(?<=", "xgrammar has no look-behind"),
    ("(?<!", "xgrammar has no look-behind"),
    ("(?i", "(?i) stands at the beginning, for the whole pattern"),
    ("^", "an anchor in the middle says nothing to xgrammar; leave it out"),
    ("$", "an anchor in the middle says nothing to xgrammar; leave it out"),
)


def read_macro(scanner: Scanner, calls: list[Call], name: str, token: str, at: int) -> Node:
    """The node of a macro; `token` is the whole call, or the name alone if no call was found."""
    if name in DISPATCHES:
        return read_dispatch(scanner, calls, name, token, at)
    if name == "Token":
        tokens = tuple(Token(i, at) for i in _ids(scanner, name, token, at))
        return tokens[0] if len(tokens) == 1 else Alternatives(tokens)
    if name == "ExcludeToken":
        return OtherToken(_ids(scanner, name, token, at), at)
    if name == "Regex":
        return _regex(scanner, token, at)
    raise scanner.error(f"{name}() is not supported", at, UnsupportedFeature)


def _ids(scanner: Scanner, name: str, token: str, at: int) -> tuple[int, ...]:
    call = _IDS.match(token)
    if call is None:
        raise scanner.error(f"{name}() takes ids of tokens: {name}(128010), {name}(1, 2)", at)
    arguments = re.sub(COMMENT, "", call.group(1))
    return tuple(sorted({scanner.token_id(digits, at) for digits in re.findall("[0-9]+", arguments)}))


def _regex(scanner: Scanner, token: str, at: int) -> Node:
    call = _REGEX.match(token)
    if call is None:
        raise scanner.error('Regex() takes a pattern and perhaps flags: Regex("[0-9]+"), Regex("[a-f]", flags="i")', at)
    letters, is_json = "s", False  # without flags . is any character, with flags only an s makes it so
    for option in _OPTION.finditer(token, *call.span(2)):
        name, value = option.groups()
        if name == "flags":
            letters = _flags(scanner, scanner.string(value, at + option.start(2)), at)
        else:
            is_json = value == "true"
    pattern = _in_python(scanner, scanner.string(call.group(1), at + call.start(1)), letters, at)
    return Pattern(f"{JSON_CHARACTERS}(?:{pattern})" if is_json else pattern, at)


def _in_python(scanner: Scanner, pattern: str, letters: str, at: int) -> str:
    if pattern.startswith(IGNORE_CASE):
        pattern, letters = pattern[len(IGNORE_CASE) :], "".join(sorted({*letters, "i"}))
    pattern = _common(scanner, pattern, at)
    return f"(?{letters}:{pattern})" if letters else pattern


class _Alone(Scanner):
    NOTATION = "pattern"


def python_pattern(pattern: str) -> str:
    """A pattern as xgrammar reads it, without flags, in Python's syntax; UnsupportedFeature where the two read it differently."""
    return _in_python(_Alone(pattern, lambda: None), pattern, "s", 0)


def _flags(scanner: Scanner, flags: str, at: int) -> str:
    unknown = set(flags) - set("isu")
    if unknown:
        raise scanner.error(f"unknown flag {min(unknown)!r} of Regex(); there are i, s and u", at)
    return "".join(sorted(set(flags) & set("is")))  # u is the default


def _common(scanner: Scanner, pattern: str, at: int) -> str:
    """The pattern in Python's syntax, without ^ and $ at its ends; raises where the two read it differently."""
    place = 1 if pattern.startswith("^") else 0
    found: list[str] = []
    repeatable = False
    while place < len(pattern):
        if not place & 255:
            scanner.tick()
        if pattern[place] == "$" and place == len(pattern) - 1:
            break
        lexeme = _LEXEME.match(pattern, place)
        if lexeme is None or (lexeme.lastgroup == "repeat" and not repeatable):
            raise scanner.error(
                f"Regex() with {pattern[place : place + 20]!r} at position {place} is not supported: {_reason(pattern, place)}",
                at,
                UnsupportedFeature,
            )
        kind, text = lexeme.lastgroup, lexeme.group()
        repeatable = kind == "item"
        if kind == "bracket" and text != "(?:":
            found.append(text[0])  # names do not change the language
        else:
            found.append(_BRACED.sub(lambda escape: _as_python(scanner, escape, at), text) if "\\" in text else text)
        place = lexeme.end()
    return "".join(found)


def _reason(pattern: str, place: int) -> str:
    reasons = (reason for beginning, reason in _REASONS if pattern.startswith(beginning, place))
    return next(reasons, "only what xgrammar and Python read alike is")


def _as_python(scanner: Scanner, escape: re.Match[str], at: int) -> str:
    digits, is_escape, control = escape.groups()
    if is_escape or control:
        return f"\\x{ord(control) & 31 if control else 0x1B:02x}"
    if digits is None:
        return escape.group()
    if int(digits, 16) > LAST:
        raise scanner.error(f"Regex() with {escape.group()} is not supported: the last character is U+10FFFF", at)
    return f"\\U{int(digits, 16):08x}"
