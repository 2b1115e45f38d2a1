"""Requests that a server must refuse or end in peace, and hard ones that it must serve."""

import json
from pathlib import Path
from typing import Any

from tests.corpus_files import read_toml

BAD: dict[str, dict[str, Any]] = {
    **{name: json.loads(asked) for name, asked in read_toml(Path(__file__).with_suffix(".toml")).items()},
    "a repeat of a repeat of a repeat": {"regex": "(" * 200 + "ab" + "{2,3})?" * 200},
    "too many states": {"regex": "(?s)(.*a){40}.{3000}b" + "(?=.{40}x)" * 30},
}

# Nothing is wrong with these where a chat template says how the model writes calls.
TOLD_BY_TEMPLATE = {"tools without a format"}

HARD: dict[str, dict[str, Any]] = {
    "100,000 values": {"schema": {"enum": [f"value {n}" for n in range(100_000)]}},
    "100,000 nested groups": {"regex": "(" * 100_000 + "a" + ")" * 100_000},
    "arrays 60 deep": {"schema": '{"items": ' * 60 + '{"type": "integer"}' + "}" * 60},
    "arrays 800 deep": {"schema": '{"type": "array", "items": ' * 800 + "false" + "}" * 800},
    "a million characters": {"schema": {"type": "string", "maxLength": 1_000_000}},
    "1,500 optional properties": {
        "schema": {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(1_500)}}
    },
    "2 MB of schema": {
        "schema": {"type": "object", "properties": {f"key {n}": {"const": "x" * 400} for n in range(5_000)}}
    },
    "20,000 alternatives": {"regex": "|".join(f"word {n} of many" for n in range(20_000))},
    "a count of 50,000": {"regex": "a[b-y]{0,50000}z"},
    "10,000 choices": {"choices": [f"choice {n} " + "of words " * (n % 5) for n in range(10_000)]},
    "500 keywords": {"grammar": "start: " + " | ".join(f'"k{n}"' for n in range(500)) + ' | NAME "!"\nNAME: /[a-z]+/'},
    "300 rules": {
        "grammar": 'root ::= "x" r0\n' + "\n".join(f'r{n} ::= "{n}" | "x" r{n + 1}' for n in range(300)) + '\nr300 ::= "y"'
    },
    "brackets without end": {"grammar": 'root ::= "(" root ")" | "[" root "]" | "a"'},
    "an ambiguous grammar": {"grammar": 'root ::= root root | "a" | "aa"'},
    "a tree": {
        "schema": {
            "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {
                "type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["v"], "additionalProperties": False}},
            "$ref": "#/$defs/node",
        }
    },
    "50 schemas at once": {
        "schema": {"allOf": [{"type": "object", "properties": {f"p{n}": {"type": "boolean"}}} for n in range(50)]}
    },
    "distinct values": {"schema": {"type": "array", "uniqueItems": True, "items": {"enum": [*range(60)]}, "maxItems": 12}},
    "every format": {
        "schema": {"type": "object", "properties": {name: {"type": "string", "format": name} for name in (
            "date", "date-time", "time", "email", "ipv4", "ipv6", "uuid", "uri", "hostname")}, "additionalProperties": False}
    },
    "numbers between bounds": {
        "schema": {"type": "array", "items": {"type": "number", "minimum": -1e-7, "exclusiveMaximum": 12345.678,
                                              "multipleOf": 0.25}, "minItems": 2, "maxItems": 4}
    },
    "conditions": {
        "schema": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
                   "required": ["kind"], "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["n"]},
                   "else": {"properties": {"n": False}}, "additionalProperties": False}
    },
    "a pattern that looks ahead": {"schema": {"type": "string", "pattern": "^(?=.*[0-9])(?!.*  )[a-z0-9 ]{6,30}$"}},
}  # fmt: skip
# What the answers to those without a schema must look like.
TEXTS = {
    "100,000 nested groups": "a",
    "20,000 alternatives": "word [0-9]{1,5} of many",
    "a count of 50,000": "a[b-y]*z",
    "10,000 choices": "choice [0-9]{1,4} (of words ){0,4}",
    "500 keywords": "k[0-9]{1,3}|[a-z]+!",
    "300 rules": "x+([0-9]{1,3}|y)",
    "brackets without end": r"[(\[]*a[)\]]*",
    "an ambiguous grammar": "a+",
}
