"""Strings, bytes, URLs, Literals, Enums, dates and times of Python types as schemas."""

from __future__ import annotations

import datetime
import enum
from typing import Any

from . import texts
from .patterns import pattern_of_validator
from .values import Base, Refused, Schema, flag_values, read_back, reads_hex, refuse_bounds, string

LEAST_DAY = "1600-01-01"  # older versions do not count earlier days as past


def with_patterns(found: Schema, patterns: list[str]) -> Schema:
    """A schema of strings that match all patterns."""
    if patterns:
        found["pattern"] = patterns[0]
    if patterns[1:]:
        found["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    return found


class Scalars(Base):
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


class Times(Base):
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
