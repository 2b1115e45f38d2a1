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
    "an option that does not exist": {"regex": "a", "whitspace": "compact"},
    "two forms": {"regex": "a", "choices": ["a"]},
    "an option of another form": {"regex": "a", "whitespace": "compact"},
    "a notation that does not exist": {"grammar": "start: A", "notation": "yacc"},
    "a start of GBNF": {"grammar": 'root ::= "a"', "start": "other"},
    "less than no tokens": {"regex": "a", "min_tokens": -1},
    "closed by a word": {"regex": "a", "close": "yes"},
    "a schema that is a list": {"schema": [1, 2]},
    "nothing asked": {"close": True},
    "an order of lists": {"schema": {"type": "object"}, "property_order": [["a"]]},
    "an order by name": {"schema": {"type": "object"}, "property_order": {"a": 1}},
    "an order of numbers": {"schema": {"type": "object"}, "property_order": [1, None]},
    "strictness in words": {"schema": {"type": "object"}, "strict": "no"},
    "a registry of numbers": {"schema": {"$ref": "urn:a"}, "registry": {"urn:a": 3}},
    "choices by name": {"choices": {"a": 1}},
    "a misspelt keyword that is asked to be refused": {"schema": {"maxLenght": 3}, "unknown": "refuse"},
}

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
