"""Schemas of every kind, each with texts that are valid under it, and a vocabulary whose tokens cut JSON in awkward places.

They stand in tests/corpus/json_texts.toml.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import grammarlm as gl
from tests.corpus_files import raw, tables

TABLES = tables("json_texts")
PIECES = [raw(piece) for piece in TABLES["pieces"]]
STOP, SPECIAL, OTHER_STOP = (256 + len(PIECES) + i for i in range(3))
TOKENS = [bytes([byte]) for byte in range(256)] + PIECES + [b"</s>", b'{"', b"}"]
PADDING = 45
IDS: dict[bytes, list[int]] = {}  # the tokens by their bytes
for _token in range(STOP):
    IDS.setdefault(TOKENS[_token], []).append(_token)
LONGEST = max(map(len, IDS))


@cache
def vocabulary() -> gl.Vocabulary:
    return gl.Vocabulary(TOKENS, stop_ids=[STOP, OTHER_STOP], special_ids=[STOP, SPECIAL], size=len(TOKENS) + PADDING)


VOCAB = vocabulary()


def taken_ids(matcher: gl.Matcher) -> set[int]:
    """A mask by trial: the ids that advance takes, each tried."""
    taken = set()
    for token in range(-1, VOCAB.size + 1):
        if matcher.advance(token):
            taken.add(token)
            matcher.rollback(1)
    return taken


@dataclass(frozen=True)
class Case:
    """A schema, and texts that are valid under it and in the order that its options ask for."""

    schema: Any
    texts: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @cache  # noqa: B019 - the cases live as long as the process
    def compiled(self) -> gl.Constraint:
        return self.compile()

    def compile(self, **settings: Any) -> gl.Constraint:
        return gl.compile(gl.JsonSchema(self.schema, **self.options), vocabulary(), **settings)

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return json.dumps(self.schema) + str(self.options or "")


def case(schema: Any, *texts: str, **options: Any) -> Case:
    return Case(schema, texts, options)


ANY = {"property_order": "any"}
_MANY = {f"k{i}": {"type": "integer"} if i % 2 else {"enum": [1, "a"]} for i in range(70)}
CASES = {
    each["name"]: case(json.loads(each["schema"]), *each["texts"], **each.get("options", {})) for each in TABLES["case"]
} | {
    "more than 62 keys": case(
        {"type": "object", "properties": _MANY, "required": ["k1", "k65"], "additionalProperties": False},
        '{"k0":1,"k1":12,"k65":1,"k68":"a"}',
        '{"k1":0,"k65":1}',
    ),
    "more than 62 keys, any order": case(
        {"type": "object", "properties": _MANY, "required": ["k1", "k65"]},
        '{"k69":1,"k65":1,"k1":12,"k0":1,"a":[]}',
        '{"k1":0,"k65":1}',
        **ANY,
    ),
    "dependencies among more than 62 keys": case(
        {"type": "object", "properties": _MANY, "dependentRequired": {"k1": ["k3"], "k3": ["k65"]}},
        '{"k65":1,"k3":1,"k1":3}',
        '{"k65":2}',
        '{"k0":"a"}',
        **ANY,
    ),
}
SOME = ["declared", "patterns of keys", "prefixItems", "anyOf", "enum", "bounds", "recursion", "lengths", "flexible"]
SOME += ["more than 62 keys"]
