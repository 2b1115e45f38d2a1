"""Schemas whose strings and keys, at every depth, do not contain some texts.

Compared are the values: a string that has a text written with escapes is refused, too.
"""

from __future__ import annotations

import re
from typing import Any

from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.tools.entries.arguments import part_of

WHOLE, WITHOUT = "tag:/schema", "tag:/without"  # addresses of the schema and of what all its values are


def without_texts(schema: JsonSchema, texts: tuple[str, ...]) -> JsonSchema:
    """The values of the schema in which no string and no key contains one of the texts."""
    if not texts:
        return schema
    pattern = "|".join(re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII) for text in texts)
    none: dict[str, Any] = {
        "not": {"type": "string", "pattern": pattern},
        "propertyNames": {"not": {"pattern": pattern}},
        "additionalProperties": {"$ref": WITHOUT},
        "items": {"$ref": WITHOUT},
    }
    registry = {**(schema.registry or {}), WHOLE: schema.document(), WITHOUT: none}
    return part_of(schema, {"allOf": [{"$ref": WHOLE}, {"$ref": WITHOUT}]}, registry)
