"""JSON schemas of Python types that enforce what pydantic's validators check: pydantic's own generator, with overrides for the
types whose published schema is looser than their validator.

    scalars.py     strings, bytes, Literals, Enums, dates and times
    numbers.py     floats, Decimals and the like
    containers.py  sets, dicts, unions
    functions.py   checks that pydantic makes in functions
    texts.py       the strings that values are read from
    patterns.py    patterns of validators, in Rust's or Python's syntax
    values.py      values of Literals and Enums, and what the others share

pydantic calls a method of its generator for each type: each file has a class with some of these methods, and the generator has
all of them.

An unknown validator of pydantic's own is refused by name; the caller's own validators are left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from grammarlm.errors import UnsupportedFeature

from .containers import Containers
from .functions import Functions
from .numbers import Numbers
from .scalars import Scalars, Times
from .values import Base, Refused, Schema, within


def type_schema(adapter: Any, closed: bool) -> Schema:
    """The schema of a pydantic TypeAdapter. `closed`: objects take no undeclared keys, unless a type asks for them."""
    try:
        schema: Schema = adapter.json_schema(schema_generator=generator_class(closed), mode="validation")
    except Refused as refusal:
        raise UnsupportedFeature(str(refusal)[:400]) from None
    return schema


@cache
def generator_class(closed: bool) -> type:
    """pydantic is imported only here, when it is needed."""
    from pydantic.json_schema import GenerateJsonSchema

    parts = (Objects, Scalars, Numbers, Times, Containers, Functions, GenerateJsonSchema)
    return type("ExactSchemas", parts, {"closed": closed})


class Objects(Base):
    _field = ""

    def model_fields_schema(self, schema: Schema) -> Schema:
        found = self._close(super().model_fields_schema(schema), schema)  # type: ignore[misc]
        if schema.get("extras_keys_schema") is not None:
            with within("__pydantic_extra__"):
                others = self.key_schema(schema["extras_keys_schema"])
            found["propertyNames"] = {"anyOf": [*({"const": name} for name in found["properties"]), others]}
        return found

    def dataclass_args_schema(self, schema: Schema) -> Schema:
        taken = [field for field in schema["fields"] if field.get("init") is not False]
        return self._close(super().dataclass_args_schema({**schema, "fields": taken}), schema)  # type: ignore[misc]

    def typed_dict_schema(self, schema: Schema) -> Schema:
        kind, config = schema.get("cls"), schema.get("config", {})
        with within(getattr(kind, "__name__", None) or config.get("title", "TypedDict")):
            found: Schema = super().typed_dict_schema(schema)  # type: ignore[misc]
        if getattr(kind, "__closed__", None) is False:
            return {**found, "additionalProperties": True}
        extra = schema.get("extra_behavior") or config.get("extra_fields_behavior")
        return self._close(found, {**schema, "extra_behavior": extra})

    def model_schema(self, schema: Schema) -> Schema:
        with within(schema["cls"].__name__):
            found: Schema = super().model_schema(schema)  # type: ignore[misc]
        return found

    def dataclass_schema(self, schema: Schema) -> Schema:
        with within(schema["cls"].__name__):
            found: Schema = super().dataclass_schema(schema)  # type: ignore[misc]
        return found

    def _close(self, found: Schema, core: Schema) -> Schema:
        extra = core.get("extra_behavior") or self.option("extra")
        if extra == "allow":
            found.setdefault("additionalProperties", True)
        elif extra == "forbid" or self.closed:
            found.setdefault("additionalProperties", False)
        if found.get("additionalProperties") is not False:
            for name in _names_of_fields(core["fields"]):  # no other key is one that a field, or a tag, is read from
                found["properties"].setdefault(name, False)
        return found

    def _get_alias_name(self, field: Schema, name: str) -> str:
        """The one key that a field is read from: of several aliases the first that is a plain name."""
        self._field = name
        alias = field.get("validation_alias", name)
        if self.option("validate_by_alias") is False:
            return name
        if isinstance(alias, str):
            return alias
        for path in alias:
            if isinstance(path, list) and len(path) == 1 and isinstance(path[0], str):
                return path[0]
        if self.option("populate_by_name") or self.option("validate_by_name"):
            return name
        raise Refused(f"{name} is read from a path inside the input ({alias}): give it a plain alias (AliasChoices)")

    def model_field_schema(self, schema: Schema) -> Schema:
        with within(self._field):
            return self.generate_inner(schema["schema"])

    dataclass_field_schema = typed_dict_field_schema = model_field_schema


def _names_of_fields(fields: Any) -> Iterator[str]:
    """The fields' own names, and all keys that they are read from."""
    for name, field in fields.items() if isinstance(fields, dict) else ((each["name"], each) for each in fields):
        yield name
        alias = field.get("validation_alias", name)
        paths = [[alias]] if isinstance(alias, str) else alias if isinstance(alias[0], list) else [alias]
        yield from (path[0] for path in paths)
