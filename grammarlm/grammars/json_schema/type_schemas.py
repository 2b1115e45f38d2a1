"""JSON schemas of Python types that enforce what pydantic's validators check: pydantic's own generator, with overrides for the
types whose published schema is looser than their validator.

    type_texts.py       the strings that values are read from
    type_numbers.py     floats, Decimals and the like
    type_patterns.py    patterns of validators, in Rust's or Python's syntax
    type_values.py      Literals, Enums, and what the others share

An unknown validator of pydantic's own is refused by name; the caller's own validators are left to the caller.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...errors import UnsupportedFeature
from . import type_texts as texts
from .type_numbers import Numbers
from .type_patterns import pattern_of_validator
from .type_values import Base, Refused, Schema, flag_values, key_values, read_back, reads_hex, refuse_bounds, string

LARGEST_KEY = 10**18 - 1
SCALARS = ["string", "number", "boolean", "null"]
LEAST_DAY = "1600-01-01"  # older versions do not count earlier days as past

REFUSED_FORMATS = {
    "file-path": "whether the file exists is not known: use Path",
    "directory-path": "whether the directory exists is not known: use Path",
}
# Published as a format alone, and read by a function.
FORMATS: dict[str, str | None] = {
    "path": None, "password": None, "binary": None,
    "ipv4network": texts.IPV4_NETWORK, "ipv6network": texts.IPV6_NETWORK,
    "ipv4interface": texts.IPV4_INTERFACE, "ipv6interface": texts.IPV6_INTERFACE,
    "ipvanyaddress": f"{texts.IPV4}|{texts.IPV6}",
    "ipvanyinterface": f"{texts.IPV4_INTERFACE}|{texts.IPV6_INTERFACE}",
    "ipvanynetwork": f"{texts.IPV4_NETWORK}|{texts.IPV6_NETWORK}",
    "regex": texts.REGEX, "email": texts.EMAIL, "name-email": texts.EMAIL,
    "fraction": texts.FRACTION_TEXT,
}  # fmt: skip
# Functions of pydantic's own whose checks are already in the schema beside or above them.
KNOWN = frozenset(
    """
    path_validator to_path create_path PathType wrap_val _validate_url EmailStr NameEmail SecretStr SecretBytes _SecretField Secret
    validate_secret_value sequence_validator mapping_validator mapping_like_validator defaultdict_validator deque_validator
    dequeue_validator counter_validator ordered_dict_typed_validator ordered_dict_any_validator deque_typed_validator
    deque_any_validator frozenset_validator set_validator list_validator iterable_validator serialize_sequence_via_list
    lax_generator pattern_either_validator pattern_str_validator pattern_bytes_validator compile_pattern fraction_validator
    ip_v4_address_validator ip_v6_address_validator ip_v4_network_validator ip_v6_network_validator ip_v4_interface_validator
    ip_v6_interface_validator IPvAnyAddress IPvAnyInterface IPvAnyNetwork to_enum val_func UuidVersion InstanceOf SkipValidation
    make_strict validate_strict coerce_instance dict_not_none
    """.split()  # noqa: SIM905  # a list of this length is read as words
)
LENGTHS = {"min_length_validator": "min", "max_length_validator": "max"}
LENGTH_OF = {"array": "Items", "object": "Properties", "secret": "Length"}
BOUNDS = {
    "greater_than_validator": "exclusiveMinimum",
    "greater_than_or_equal_validator": "minimum",
    "less_than_validator": "exclusiveMaximum",
    "less_than_or_equal_validator": "maximum",
    "multiple_of_validator": "multipleOf",
}


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

    parts = (_Objects, _Scalars, Numbers, _Times, _Containers, _Functions, GenerateJsonSchema)
    return type("ExactSchemas", parts, {"closed": closed})


@contextmanager
def within(place: str) -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        refusal.place.append(place)
        raise


def with_patterns(found: Schema, patterns: list[str]) -> Schema:
    """A schema of strings that match all patterns."""
    if patterns:
        found["pattern"] = patterns[0]
    if patterns[1:]:
        found["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    return found


class _Scalars(Base):
    def str_schema(self, schema: Schema) -> Schema:
        least, most = (schema.get(word, self.option(f"str_{word}")) for word in ("min_length", "max_length"))
        found: Schema = {"type": "string"}
        if least:
            found["minLength"] = least
        if most is not None:
            found["maxLength"] = most
        patterns = []
        if schema.get("pattern") is not None:
            engine = schema.get("regex_engine") or self.option("regex_engine") or "rust-regex"
            try:
                patterns.append(pattern_of_validator(schema["pattern"], engine))
            except ValueError as error:
                raise Refused(str(error)) from None
        if schema.get("strip_whitespace", self.option("str_strip_whitespace")):
            patterns.append(r"^(?:[^\s\x1C-\x1F\x85](?:[\s\S]*[^\s\x1C-\x1F\x85])?)?$")
        if schema.get("ascii_only"):
            patterns.append(r"^[\x00-\x7F]*$")
        return with_patterns(found, patterns)

    def bytes_schema(self, schema: Schema) -> Schema:
        least, most = schema.get("min_length") or 0, schema.get("max_length")
        how = self.option("val_json_bytes") or "utf8"
        if how == "hex" and not reads_hex():
            how = "utf8"
        if how == "utf8":
            if not least and most is None:
                return {"type": "string"}
            bounds = {"minLength": least, **({} if most is None else {"maxLength": most})}
            return string(r"[\x00-\x7F]*", **bounds)  # other characters are several bytes
        if how == "hex":
            return string(f"{texts.HEX_BYTES}{{{least},{'' if most is None else most}}}")
        refuse_bounds(schema, "bytes in Base64", "min_length", "max_length")
        return string(texts.base64_text("-_", ascii_only=False))

    def uuid_schema(self, schema: Schema) -> Schema:
        version = schema.get("version")
        return {"type": "string", "format": "uuid"} if version is None else string(texts.uuid_text(version))

    def url_schema(self, schema: Schema) -> Schema:
        most = schema.get("max_length")
        bounds = {} if most is None else {"maxLength": most - 1}  # a missing path adds one character
        return string(texts.url_text(schema.get("allowed_schemes")), **bounds)

    multi_host_url_schema = url_schema

    def literal_schema(self, schema: Schema) -> Schema:
        return {"enum": read_back({"type": "literal", "expected": schema["expected"]}, schema["expected"], "Literal")}

    def enum_schema(self, schema: Schema) -> Schema:
        kind = schema["cls"]
        values: list[Any] = [member.value for member in schema["members"]]
        core: Schema = {
            word: schema[word] for word in ("type", "cls", "members", "sub_type", "missing") if word in schema
        }
        if issubclass(kind, enum.Flag):
            values = flag_values(values, core)
        return {"title": kind.__name__, "enum": read_back(core, values, kind.__name__)}

    def is_subclass_schema(self, schema: Schema) -> Schema:
        name = getattr(schema["cls"], "__name__", "...")
        raise Refused(f"type[{name}]: JSON text cannot say a class; use a Literal of names")

    def json_schema(self, schema: Schema) -> Schema:
        raise Refused("Json[...] is JSON text inside a JSON string: use the type inside the brackets itself")


class _Times(Base):
    def date_schema(self, schema: Schema) -> Schema:
        day = datetime.timedelta(days=1)
        low, high = schema.get("ge"), schema.get("le")
        if schema.get("gt") is not None:
            low = max(schema["gt"] + day, low or datetime.date.min)
        if schema.get("lt") is not None:
            high = min(schema["lt"] - day, high or datetime.date.max)
        past = _past(schema, "date", days=1)
        high = past if high is None else high if past is None else min(high, past)
        days = texts.days_between(*(bound if bound is None else bound.isoformat() for bound in (low, high)))
        return with_patterns({"type": "string"}, [texts.whole_text(texts.DAY), *days])

    def datetime_schema(self, schema: Schema) -> Schema:
        refuse_bounds(schema, "datetime")
        found = string(f"{texts.DAY}T{texts.SECONDS}{_zone(schema, 'datetime')}")
        past = _past(schema, "datetime", days=2)  # whatever the zone
        if past is None:
            return found
        days = texts.days_between(LEAST_DAY, past.isoformat())
        return {**found, "allOf": [{"pattern": pattern.removesuffix("$") + "T"} for pattern in days]}

    def time_schema(self, schema: Schema) -> Schema:
        refuse_bounds(schema, "time")
        return string(f"{texts.SECONDS}{_zone(schema, 'time')}")

    def timedelta_schema(self, schema: Schema) -> Schema:
        refuse_bounds(schema, "timedelta")
        return string(texts.DURATION)


def _zone(core: Schema, name: str) -> str:
    zone = core.get("tz_constraint")
    if zone not in texts.ZONES:
        raise Refused(f"a {name} in one zone is not enforced: use AwareDatetime")
    return texts.ZONES[zone]


def _past(core: Schema, name: str, days: int) -> datetime.date | None:
    """The last day that is past whenever the text is read."""
    if core.get("now_op") is None:
        return None
    if core["now_op"] != "past":
        raise Refused(f"a {name} of the future moves on with the clock: use {name}, and a validator of your own")
    return datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=days + 1)


class _Containers(Base):
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
        told_apart = kinds <= _TOLD_APART and not {"int", "bool"} <= kinds
        if found.get("minItems", 0) > 1 and not told_apart:
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
        if found.get("minProperties", 0) > 1 and not set(_kinds(keys)) <= _TOLD_APART | {"any"}:
            raise Refused("a dict of at least two items, of whose keys two in JSON may be one in Python")
        return found

    ordered_dict_schema = frozendict_schema = dict_schema

    def counter_schema(self, schema: Schema) -> Schema:
        return self.dict_schema({"values_schema": {"type": "int"}, **schema})

    def key_schema(self, core: Schema) -> Schema:
        """The strings that a key is read from."""
        kind = core["type"]
        if kind == "any":
            return {"type": "string"}
        if kind in _WRAPPERS:
            return self.key_schema(core["schema"])
        if kind == "int":
            return _integer_key(core)
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
        if isinstance(named, list):
            named = next((path[0] for path in named if len(path) == 1 and isinstance(path[0], str)), None)
            if named is None:
                raise Refused("a union whose tag is read from a path: give the tag a plain alias")
        found: list[Schema] = []
        for choice in schema["choices"].values():
            if isinstance(choice, (str, int)):
                continue  # an alias of another tag's choice
            inner = self.generate_inner(choice)
            if isinstance(named, str):
                inner = (
                    {"allOf": [inner], "required": [named]} if "required" in inner else {**inner, "required": [named]}
                )
            if inner not in found:
                found.append(inner)
        return found[0] if len(found) == 1 else {"anyOf": found}


_TOLD_APART = frozenset(["int", "str", "bool", "enum", "literal", "date", "none", "nullable"])
_WRAPPERS = frozenset(["nullable", "default", "function-before", "function-after", "function-wrap", "custom-error"])


def _choices(core: Schema) -> list[Schema]:
    return [choice[0] if isinstance(choice, tuple) else choice for choice in core["choices"]]


def _kinds(core: Schema) -> Iterator[str]:
    """The core types that an item can have."""
    todo = [core]
    while todo:
        here = todo.pop()
        yield here["type"]
        if isinstance(here.get("schema"), dict) and here["type"] not in ("model", "dataclass"):
            todo.append(here["schema"])
        if here["type"] == "union":
            todo += _choices(here)


def _integer_key(core: Schema) -> Schema:
    refuse_bounds(core, "int as a key", "multiple_of")
    low, high = core.get("ge"), core.get("le")
    if core.get("gt") is not None:
        low = max(core["gt"] + 1, core["gt"] + 1 if low is None else low)
    if core.get("lt") is not None:
        high = min(core["lt"] - 1, core["lt"] - 1 if high is None else high)
    pattern = texts.integer_text(low, high, LARGEST_KEY)
    if pattern is None:
        raise Refused("an int as a key whose bounds leave nothing")
    return string(pattern)


class _Objects(Base):
    _field = ""

    def model_fields_schema(self, schema: Schema) -> Schema:
        return self._close(super().model_fields_schema(schema), schema)  # type: ignore[misc]

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
        return self._close(found, {"extra_behavior": extra})

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


class _Functions(Base):
    ignored_warning_kinds: set[str] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's own name

    def generate_inner(self, schema: Any) -> Schema:  # type: ignore[override]
        if schema["type"].startswith("function-"):
            own = self._of_pydantic(schema)
            if own is not None:
                return own
        found: Schema = super().generate_inner(schema)  # type: ignore[misc]
        if schema["type"] == "custom-error" and schema.get("custom_error_type") == "is_hashable":
            return {"type": SCALARS}
        return _by_format(found) if "format" in found and "properties" not in found else found

    def _of_pydantic(self, schema: Schema) -> Schema | None:
        """The schema for the check of one of pydantic's own functions; None where the published schema has it."""
        function = schema["function"]["function"]
        bare = getattr(function, "func", function)
        if not (getattr(bare, "__module__", None) or "").startswith("pydantic"):
            return None
        names = getattr(bare, "__qualname__", type(bare).__name__).split(".")
        if "EncodedBytes" in names or "EncodedStr" in names:
            is_url = "URL" in getattr(function.__self__.encoder, "__name__", "").upper()
            return string(texts.base64_text("-_" if is_url else "+/", ascii_only="EncodedStr" in names))
        if "ByteSize" in names:
            return {"anyOf": [{"type": "integer", "minimum": 0}, string(texts.BYTE_SIZE)]}
        if names[-1] in LENGTHS or names[-1] in BOUNDS:
            return self._constrained(schema, names[-1], function)
        if not KNOWN & set(names):
            name = ".".join(names).replace(".<locals>", "")
            raise Refused(
                f"what pydantic's {name} checks is not known here: use a str, an int or a validator of your own"
            )
        return None

    def _constrained(self, schema: Schema, name: str, function: Any) -> Schema:
        inner = self.generate_inner(schema["schema"])
        kind = "secret" if _is_secret(schema["schema"]) else inner.get("type")
        (value,) = getattr(function, "keywords", {}).values() or (None,)
        if name in LENGTHS and kind in LENGTH_OF:
            return {**inner, LENGTHS[name] + LENGTH_OF[kind]: value}
        if name in BOUNDS and kind == "integer" and isinstance(value, int):
            return {**inner, BOUNDS[name]: value}
        raise Refused(
            f"{name.removesuffix('_validator')} of this type is not enforced: leave it to a validator of your own"
        )


def _by_format(found: Schema) -> Schema:
    name = found["format"]
    if name in REFUSED_FORMATS:
        raise Refused(f"{name}: {REFUSED_FORMATS[name]}")
    if name not in FORMATS or found.get("type", "string") != "string":
        return found
    rest = {word: value for word, value in found.items() if word not in ("format", "writeOnly")}
    pattern = FORMATS[name]
    if pattern is not None:
        rest["pattern"] = texts.whole_text(pattern)
        if pattern == texts.EMAIL:
            rest["maxLength"] = min(rest.get("maxLength", texts.LONGEST_MAIL), texts.LONGEST_MAIL)
    return rest


def _is_secret(core: Schema) -> bool:
    """Is it SecretStr?"""
    inner = core.get("lax_schema", core)
    inner = inner.get("json_schema", inner)
    return getattr(inner.get("function", {}).get("function"), "__name__", None) == "SecretStr"
