"""A child's task: is a text JSON, and valid under the schema? By jsonschema, which may hang on a pattern: hence apart.

Twice: under the draft that the schema names (2020-12 where it names none), and as JSONSchemaBench's reference implementation
judges: under draft 2020-12 whatever the schema names, where a schema that is none under that draft makes everything invalid, and
so do the formats ipv4, ipv6 and uuid (found by running its judge in lm-evaluation-harness). What cannot be judged (a reference
to a document that is not there, a pattern that is none) is not valid.
"""

from __future__ import annotations

import ipaddress
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.record import Record
from grammarlm.bench.tasks import Step

VALID = "valid"
DATES = ("date", "date-time", "time")
FORMATS = {"ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address, "uuid": uuid.UUID}  # beside jsonschema's own


@dataclass
class Validated(Record):
    """A verdict for each text: "valid", or why not; and the reference implementation's."""

    verdicts: list[str] = field(default_factory=list)
    by_reference: list[bool] = field(default_factory=list)


class Validate:
    def __init__(self, settings: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator, FormatChecker
        from jsonschema.validators import validator_for
        from referencing import Registry

        self._class, self._class_for = Draft202012Validator, validator_for
        self._registry: Any = Registry()  # nothing is fetched
        self._formats, self._reference_formats = FormatChecker(), FormatChecker()
        # FormatChecker() has those of draft 3, too: "color", and a "time" without a zone.
        self._formats.checkers = dict(Draft202012Validator.FORMAT_CHECKER.checkers)
        for name in DATES:
            if name in self._formats.checkers:
                check, raises = self._formats.checkers[name]
                self._formats.checks(name, raises)(_of_rfc_3339(check))
        for name, read in FORMATS.items():
            self._formats.checks(name, ValueError)(_of_strings(read))
            # The reference's checks return nothing, which jsonschema takes for "no": under these formats nothing is valid.
            self._reference_formats.checks(name)(lambda value: None)

    def run(self, case: Case, step: Step) -> Validated:
        schema, texts = case.load()["schema"], case.texts or []
        return Validated(
            case.name,
            verdicts=[self._verdict(schema, text) for text in texts],
            by_reference=[self._reference(schema, text) for text in texts],
        )

    def _verdict(self, schema: Any, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return f"not JSON: {error}"[:300]
        try:
            of_draft = self._class_for(schema, default=self._class)
            validator = of_draft(schema, registry=self._registry, format_checker=self._formats)
            found = next(iter(validator.iter_errors(value)), None)
        except Exception as error:  # whatever a broken schema does to the validator
            return f"cannot be judged: {type(error).__name__}: {error}"[:300]
        return VALID if found is None else f"invalid at {found.json_path}: {found.message}"[:300]

    def _reference(self, schema: Any, text: str) -> bool:
        try:
            value = json.loads(text)
            self._class.check_schema(schema)
            validator = self._class(schema, registry=self._registry, format_checker=self._reference_formats)
            return bool(validator.is_valid(value))
        except Exception:
            return False


def _of_rfc_3339(check: Any) -> Any:
    """The year 0000 and leap seconds are dates and times, too, which Python's own do not have."""

    def check_text(value: Any) -> bool:
        if isinstance(value, str):
            value = re.sub(r"(?<=:[0-5]\d:)60", "59", re.sub(r"^0000(?=-)", "0400", value))
        return bool(check(value))

    return check_text


def _of_strings(read: Any) -> Any:
    def check(value: Any) -> bool:
        if isinstance(value, str):
            read(value)  # ValueError
        return True

    return check
