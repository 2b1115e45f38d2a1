"""Grammars of each notation over all bytes and some longer tokens, each with a text and a judge that shares no code with ours."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import jsonschema
import lark
import numpy as np

import grammarlm as gl

EXTRA = [
    b"true",
    b'":',
    b'", "',
    b'{"',
    b"12",
    b"+(",
    b"))",
    b", ",
    b"2024-",
    b"ab",
    b"\xc3\xa9",
    b"<",
    b">,<",
    b"name",
    b'"}',
]
TOKENS = [b"<mask>", *(bytes([byte]) for byte in range(256)), *EXTRA, b"</s>", b"<pad>"]
STOPS = [len(TOKENS) - 2, len(TOKENS) - 1]
VOCAB = gl.Vocabulary(TOKENS, stop_ids=STOPS, special_ids=[0, *STOPS])
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "n": {"type": "integer", "minimum": 3},
        "ok": {"type": "boolean"},
    },
    "required": ["name"],
}
LISTS = 'root ::= item (", " item)*\nitem ::= [0-9]+ | "<" root ">"\n'
ARITHMETIC = 'start: term (("+" | "-") term)*\nterm: NUM | "(" start ")"\nNUM: /[0-9]+/\n'
DATES = r"(2024-[01]\d-[0-3]\d|é)( (2024-[01]\d-[0-3]\d|é)){0,3}"
WORDS = ["true", "a name", "a nap", "abé, ab", "12", "nab"]


@dataclass(frozen=True)
class Family:
    grammar: object
    text: str
    accepts: Callable[[str], object]

    @cached_property
    def ids(self) -> list[int]:
        """The text as tokens, the longest first."""
        data, found = self.text.encode(), []
        longest = sorted(range(1, STOPS[0]), key=lambda token: -len(TOKENS[token]))
        while data:
            found.append(next(token for token in longest if data.startswith(TOKENS[token])))
            data = data[len(TOKENS[found[-1]]) :]
        return found

    def holes(self, random, share, room=3):
        """The text and a few stop ids, with masks."""
        row = np.array([*self.ids, *[STOPS[0]] * room])
        row[random.random(len(row)) < share] = -1
        row[random.integers(len(row))] = -1
        return row.tolist()

    def is_valid(self, text) -> bool:
        try:
            return bool(self.accepts(text))
        except (ValueError, lark.exceptions.LarkError):
            return False


def parses(grammar):
    parser = lark.Lark(grammar, parser="lalr")
    return lambda text: parser.parse(text) is not None


def is_instance(text) -> bool:
    def unique(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    value = json.loads(text, object_pairs_hook=unique, parse_constant=float)
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(value)


FAMILIES = {
    "regex": Family(gl.Regex(DATES), "2024-05-17 é 2024-12-03", lambda text: re.fullmatch(DATES, text, re.ASCII)),
    "choices": Family(gl.Choices(WORDS), "abé, ab", WORDS.__contains__),
    "Lark": Family(gl.Lark(ARITHMETIC), "12+(3-(40+5))-6", parses(ARITHMETIC)),
    "GBNF": Family(
        gl.Gbnf(LISTS), "12, <3, <40>>, 5", parses('start: item (", " item)*\nitem: /[0-9]+/ | "<" start ">"\n')
    ),
    "JSON Schema": Family(gl.JsonSchema(SCHEMA), '{"name": "abé", "n": 12, "x": {"y": true}}', is_instance),
}
