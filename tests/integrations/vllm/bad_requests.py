"""Requests that a server must refuse or end in peace, and hard ones that it must serve."""

from typing import Any

BAD: dict[str, dict[str, Any]] = {
    "a schema that is no JSON": {"schema": '{"type": '},
    "a type that does not exist": {"schema": {"type": "strng"}},
    "nothing is valid": {"schema": {"allOf": [{"type": "string"}, {"type": "integer"}]}},
    "false": {"schema": False},
    "minimum above maximum": {"schema": {"type": "integer", "minimum": 3, "maximum": 2}},
    "a reference to nowhere": {"schema": {"$ref": "#/$defs/missing"}},
    "a reference to the net": {"schema": {"$ref": "https://example.com/schema.json"}},
    "a circle of references": {"schema": {"$ref": "#"}},
    "multipleOf 0": {"schema": {"multipleOf": 0}},
    "a broken pattern": {"schema": {"type": "string", "pattern": "("}},
    "a back reference in a pattern": {"schema": {"type": "string", "pattern": "(a)\\1"}},
    "required of no object": {"schema": {"type": "object", "required": "a"}},
    "an unclosed group": {"regex": "(a"},
    "a back reference": {"regex": "(a)\\1"},
    "nothing to repeat": {"regex": "*a"},
    "a reversed range": {"regex": "[z-a]"},
    "a repeat of a repeat of a repeat": {"regex": "(" * 200 + "ab" + "{2,3})?" * 200},
    "no text matches": {"regex": "a(?!a)a"},
    "too many states": {"regex": "(?s)(.*a){40}.{3000}b" + "(?=.{40}x)" * 30},
    "an empty list of choices": {"choices": []},
    "choices that are no list": {"choices": "yes"},
    "choices that are numbers": {"choices": [1, 2]},
    "a grammar without its root": {"grammar": 'a ::= "b"\nb ::= c'},
    "an undefined rule": {"grammar": "root ::= missing"},
    "a rule that never ends": {"grammar": 'root ::= "a" root'},
    "an unclosed quote": {"grammar": 'root ::= "a'},
    "Lark that is broken": {"grammar": "start: ("},
    "Lark without start": {"grammar": 'top: "a"'},
    "Lark with an unknown terminal": {"grammar": "start: MISSING"},
    "Lark that never ends": {"grammar": 'start: "a" start'},
    "an empty grammar": {"grammar": "   "},
    "an import of a file": {"grammar": "%import .other.rule\nstart: rule"},
}

HARD: dict[str, dict[str, Any]] = {
    "100,000 values": {"schema": {"enum": [f"value {n}" for n in range(100_000)]}},
    "100,000 nested groups": {"regex": "(" * 100_000 + "a" + ")" * 100_000},
    "arrays 60 deep": {"schema": '{"items": ' * 60 + '{"type": "integer"}' + "}" * 60},
    "a million characters": {"schema": {"type": "string", "maxLength": 1_000_000}},
    "1,500 optional properties": {
        "schema": {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(1_500)}}
    },
    "2 MB of schema": {
        "schema": {"type": "object", "properties": {f"key {n}": {"const": "x" * 400} for n in range(5_000)}}
    },
}
