"""Grammars with a stack, each with an oracle that shares nothing with the machine, and vocabularies for them."""

import json
import re
from collections.abc import Callable
from typing import Any

import lark

import grammarlm as gl
from tests.laws import vocabularies
from tests.laws.cfg_vocabularies import bytes_only

VOCABULARIES = {"bytes": bytes_only(), "merged": vocabularies.merged_pairs(), "hostile": vocabularies.every_byte()}
COMPILED = {name: token_list.vocabulary() for name, token_list in VOCABULARIES.items()}

JSON_GBNF = r"""
root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([a-z0-9 ] | "\\" ["\\nt])* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]*) ws
ws ::= [ \n]*
"""
JSON_LARK = r"""
start: value
?value: object | array | STRING | NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
STRING: /"[^"\\]*"/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
%ignore /[ \n]+/
"""
ARITHMETIC = r"""
start: sum
sum: product | sum "+" product | sum "-" product
product: atom | product "*" atom
atom: NUMBER | "-" atom | "(" sum ")"
NUMBER: /[0-9]+/
%ignore " "
"""
C_LIKE = r"""
start: stmt+
stmt: "int" NAME ";" | NAME "=" expr ";" | "if" "(" expr ")" stmt "fi" | "while" "(" expr ")" stmt | block | "return" expr ";"
block: "{" stmt* "}"
expr: expr "+" term | term
term: NAME | NUM | "(" expr ")"
NAME: /[a-z]+/
NUM: /[0-9]+/
%ignore /[ \n]+/
%ignore /#[^\n]*\n/
"""
KEYWORDS = r"""
start: "let" NAME "be" NAME | "do" NAME+ "end"
NAME: /[a-z]+/
%ignore " "
"""
TWO_AHEAD = r"""
start: a "c" "d" | b "c" "e"
a: "q" | "(" a ")"
b: "q" | "(" b ")"
%ignore " "
"""
NESTED = 'root ::= "(" root ")" | "[" root "]" | "x"'
Case = tuple[Callable[[], Any], Callable[[str], bool]]


def stock(text: str, **options: Any) -> Callable[[str], bool]:
    parser = lark.Lark(text, **{"parser": "lalr", **options})

    def accepts(data: str) -> bool:
        try:
            parser.parse(data)
        except lark.exceptions.LarkError:
            return False
        return True

    return accepts


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def is_nested(text: str) -> bool:
    """One x within brackets that mirror each other."""
    left, _, right = text.partition("x")
    return set(left) <= set("([") and right == left[::-1].translate(str.maketrans("([", ")]"))


def is_balanced(text: str) -> bool:
    """Not empty; brackets are closed as they were opened, and each holds something."""
    while "(a)" in text or "aa" in text:
        text = text.replace("(a)", "a").replace("aa", "a")
    return text == "a"


CASES: dict[str, Case] = {
    "json gbnf": (lambda: gl.Gbnf(JSON_GBNF), is_json),
    "json lark": (lambda: gl.Lark(JSON_LARK), stock(JSON_LARK)),
    "arithmetic": (lambda: gl.Lark(ARITHMETIC), stock(ARITHMETIC)),
    "c-like": (lambda: gl.Lark(C_LIKE), stock(C_LIKE)),
    "keywords": (lambda: gl.Lark(KEYWORDS), stock(KEYWORDS)),
    "not LALR": (lambda: gl.Lark(TWO_AHEAD), stock(TWO_AHEAD, parser="earley")),
    "nested": (lambda: gl.Gbnf(NESTED), is_nested),
    "ambiguous": (lambda: gl.Gbnf('root ::= root root | "a" | "(" root ")"'), is_balanced),
    "left recursion": (
        lambda: gl.Ebnf('root ::= root "," item | item\nitem ::= "ab" | "b"+ | "<" root ">"'),
        lambda text: bool(re.fullmatch(r"[ab,<>]+", text)) and text.count("<") == text.count(">"),
    ),
    "an even number": (
        lambda: gl.Gbnf('root ::= "a" root "b" | "1" "1"'),
        lambda text: bool(m := re.fullmatch(r"(a*)11(b*)", text)) and len(m[1]) == len(m[2]),
    ),
    "regex, then nested": (
        lambda: gl.Regex("[ab]{2,3}: ") + gl.Gbnf(NESTED),
        lambda text: bool(m := re.fullmatch(r"[ab]{2,3}: (.*)", text)) and is_nested(m[1]),
    ),
    "a, then arithmetic": (
        lambda: gl.Choices(["a"]) + gl.Lark(ARITHMETIC),
        lambda text: text[:1] == "a" and stock(ARITHMETIC)(text[1:]),
    ),
    "either": (lambda: gl.Gbnf(NESTED) | gl.Regex("é{3}"), lambda text: text == "ééé" or is_nested(text)),
    "a long detour": (
        lambda: gl.Gbnf('root ::= "(" root ")" | "a" | "b" "1"{40} root'),
        lambda text: bool(m := re.fullmatch(r"((?:\(|b1{40})*)a(\)*)", text)) and m[1].count("(") == len(m[2]),
    ),
}
