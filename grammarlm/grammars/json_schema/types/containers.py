"""Sets, dicts and unions of Python types as schemas: items or keys that differ in JSON may be one in Python."""

from __future__ import annotations

from collections.abc import Iterator

from . import texts
from .values import SCALARS, Base, Refused, Schema, key_values, refuse_bounds, string, within


class Containers(Base):
    def set_schema(self, schema: Schema) -> Schema:
        """JSON items may differ and yet be equal in Python, which makes the set smaller: that matters where it has a minimum
        size."""
        items = schema.get("items_schema") or {"type": "any"}
        inner = self.generate_inner(items)
        kinds = set(_kinds(items))
        for kind in kinds & {"list", "dict", "set", "typed-dict", "deque", "ordered-dict", "counter"}:
            raise Refused(f"a set of {kind}: its items cannot be hashed; use a list")
        found: Schema = {"type": "array", "items": {"type": SCALARS} if items["type"] == "any" else inner}
        for core, keyword in (("min_length", "minItems"), ("max_length", "maxItems")):
            if schema.get(core) is not None:
                found[keyword] = schema[core]
        are_distinct = kinds <= _DISTINCT and not {"int", "bool"} <= kinds and not self._may_merge(items)
        if found.get("minItems", 0) > 1 and not are_distinct:
            raise Refused(f"a set of at least {found['minItems']} items, of which two in JSON may be one: use a list")
        if not kinds & {"tuple", "named-tuple", "model", "dataclass", "definition-ref", "definitions"}:
            found["uniqueItems"] = True
        return found

    frozenset_schema = set_schema

    def dict_schema(self, schema: Schema) -> Schema:
        keys, values = (schema.get(word) or {"type": "any"} for word in ("keys_schema", "values_schema"))
        found: Schema = {"type": "object", "additionalProperties": self.generate_inner(values)}
        with within("keys"):
            named = self.key_schema(keys)
        if named != {"type": "string"}:
            found["propertyNames"] = named
        for core, keyword in (("min_length", "minProperties"), ("max_length", "maxProperties")):
            if schema.get(core) is not None:
                found[keyword] = schema[core]
        is_exact = set(_kinds(keys)) <= _DISTINCT | {"any"} and not self._may_merge(keys)
        if found.get("minProperties", 0) > 1 and not is_exact:
            raise Refused("a dict of at least two items, of whose keys two in JSON may be one in Python")
        return found

    def _may_merge(self, core: Schema) -> bool:
        """Are there Literals that are equal in Python alone, such as 1 and True, or texts of one case that are written in two?"""
        for here in _cores(core):
            if len(set(here.get("expected", ()))) < len(here.get("expected", ())):
                return True
            cases = (here.get(word, self.option(f"str_{word}")) for word in ("to_lower", "to_upper"))
            if here["type"] == "str" and any(cases):
                return True
        return False

    ordered_dict_schema = frozendict_schema = dict_schema

    def counter_schema(self, schema: Schema) -> Schema:
        return self.dict_schema({"values_schema": {"type": "int"}, **schema})

    def key_schema(self, core: Schema) -> Schema:
        """The strings that a key is read from."""
        kind = core["type"]
        if kind == "any":
            return {"type": "string"}
        if kind in _WRAPPERS and not (kind.startswith("function-") and self._of_pydantic(core)):
            return self.key_schema(core["schema"])
        if kind == "int":
            refuse_bounds(core, "int as a key", "gt", "ge", "lt", "le", "multiple_of")
            return string("0|-?[1-9][0-9]{0,17}")  # "-0" is the key 0, too
        if kind in ("float", "decimal"):
            words = ("gt", "ge", "lt", "le", "multiple_of", "max_digits", "decimal_places")
            refuse_bounds(core, f"{kind} as a key", *words)
            return string(f"-?{texts.REAL}")
        if kind == "bool":
            return {"enum": ["true", "false"]}
        if kind in ("enum", "literal"):
            return {"enum": key_values(core)}
        if kind == "union":
            return {"anyOf": [self.key_schema(choice) for choice in _choices(core)]}
        found = self.generate_inner(core)
        if found.get("type") == "string":
            return found
        raise Refused(f"{kind} as a key of a dict: a JSON object's keys are strings; use a list of pairs")

    def tagged_union_schema(self, schema: Schema) -> Schema:
        """Each choice, with its tag required: a default does not replace it."""
        named = schema["discriminator"]
        paths = [[named]] if isinstance(named, str) else named if isinstance(named, list) else []
        tags = [
            path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)
        ]  # a field's name and its alias
        if paths and not tags:
            raise Refused("a union whose tag is read from a path: give the tag a plain alias")
        found: list[Schema] = []
        for choice in schema["choices"].values():
            if isinstance(choice, (str, int)):
                continue  # an alias of another tag's choice
            inner = self.generate_inner(choice)
            if tags:  # of a field's name and its alias it is read from the latter
                last = tags[-1:]
                inner = {"allOf": [inner], "required": last} if "required" in inner else {**inner, "required": last}
            if inner not in found:
                found.append(inner)
        return found[0] if len(found) == 1 else {"anyOf": found}


_DISTINCT = frozenset(["int", "str", "bool", "enum", "literal", "date", "none", "nullable"])
_WRAPPERS = frozenset(["nullable", "default", "function-before", "function-after", "function-wrap", "custom-error"])


def _choices(core: Schema) -> list[Schema]:
    return [choice[0] if isinstance(choice, tuple) else choice for choice in core["choices"]]


def _kinds(core: Schema) -> Iterator[str]:
    """The core types that an item can have."""
    return (here["type"] for here in _cores(core))


def _cores(core: Schema) -> Iterator[Schema]:
    """What is inside wrappers and unions, and these themselves."""
    todo = [core]
    while todo:
        here = todo.pop()
        yield here
        if isinstance(here.get("schema"), dict) and here["type"] not in ("model", "dataclass"):
            todo.append(here["schema"])
        if here["type"] == "union":
            todo += _choices(here)
