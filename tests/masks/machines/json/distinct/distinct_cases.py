"""Schemas of arrays whose items must differ and may be objects or arrays, and a vocabulary whose tokens hold several items."""

import json
from typing import Any

import grammarlm as gl
from tests.corpus_files import raw, tables

TABLES = tables("json_texts")

PIECES = [raw(piece) for piece in TABLES["of_items"]]
VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), *PIECES, b"</s>"], stop_ids=[256 + len(PIECES)])


SCHEMAS, REFUSED = (
    {name: json.loads(schema) for name, schema in TABLES[table].items()} for table in ("distinct", "used_up")
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"property_order": "schema"},
    {"spelling": "plain"},
    {"whitespace": "natural"},
    {"whitespace": "natural", "spelling": "plain", "property_order": "schema"},
    {"whitespace": "compact"},
]
