"""Python types as JSON schemas, by pydantic: models, dataclasses, TypedDict, Enum, Literal, list[T]."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedFeature


def schema_of(kind: Any) -> dict[str, Any]:
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
    except ImportError:
        raise UnsupportedFeature(
            f"JsonSchema({kind!r:.80}) needs pydantic: pip install pydantic, or hand in the schema itself"
        ) from None
    try:
        return TypeAdapter(kind).json_schema()
    except PydanticUserError as error:
        raise UnsupportedFeature(f"pydantic makes no JSON schema of {kind!r:.80}: {error}") from None
