"""Checks that pydantic makes in functions: its own are read from their names, the caller's are left to the caller."""

from __future__ import annotations

from typing import Any

from . import texts
from .values import SCALARS, Base, Refused, Schema, string

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
    **{f"uuid{version}": None for version in range(1, 9)},  # whose pattern is there already
}  # fmt: skip
# Functions of pydantic's own whose checks are already in the schema next to or above them.
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


class Functions(Base):
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
            return self._encoded(schema, function.__self__.encoder, ascii_only="EncodedStr" in names)
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

    def chain_schema(self, schema: Schema) -> Schema:
        """The first step; pydantic has none but checks of text among the others, which see what the first has made."""
        for step in schema["steps"][1:]:
            core = step.get("schema", step)
            if core.get("pattern") is not None or core.get("ascii_only"):
                raise Refused("a pattern behind a function is not enforced: write it before the function")
        return super().chain_schema(schema)  # type: ignore[misc,no-any-return]

    def _encoded(self, schema: Schema, encoder: Any, ascii_only: bool) -> Schema:
        """Base64 in a text, of which what is inside may have bounds or a pattern, too."""
        core = schema["schema"]
        if core["type"] == "bytes" and self.option("val_json_bytes") not in (None, "utf8"):
            raise Refused("Base64Bytes would be decoded twice, with val_json_bytes of the model: use bytes")
        is_url = "URL" in getattr(encoder, "__name__", "").upper()
        found, inner = string(texts.base64_text("-_" if is_url else "+/", ascii_only)), self.generate_inner(core)
        return found if inner == {"type": "string"} else {**found, "allOf": [inner]}

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
