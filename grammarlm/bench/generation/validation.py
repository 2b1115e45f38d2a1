"""A child's task: is a text JSON, and valid under the schema? By jsonschema, which may hang on a pattern: hence apart.

As JSONSchemaBench judges: draft 2020-12 whatever the schema says, formats asserted. What cannot be judged (a reference to a
document that is not there, a pattern that is none) is not counted as valid.
"""

from __future__ import annotations

import ipaddress
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.record import Record

VALID = "valid"


@dataclass
class Validated(Record):
    """A verdict for each text."""

    verdicts: list[str] = field(default_factory=list)


class Validate:
    def __init__(self, settings: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator, FormatChecker
        from referencing import Registry

        self._class = Draft202012Validator
        self._registry: Any = Registry()  # nothing is fetched
        self._formats = FormatChecker()
        for name, read in (("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address), ("uuid", uuid.UUID)):
            self._formats.checks(name, ValueError)(_reads(read))

    def run(self, case: Case, step: Callable[[Record], None]) -> Validated:
        validator = self._class(case.load()["schema"], registry=self._registry, format_checker=self._formats)
        return Validated(case.name, verdicts=[self._verdict(validator, text) for text in case.texts or ()])

    def _verdict(self, validator: Any, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return f"not JSON: {error}"[:300]
        try:
            found = next(iter(validator.iter_errors(value)), None)
        except Exception as error:  # whatever a broken schema does to the validator
            return f"cannot be judged: {type(error).__name__}: {error}"[:300]
        return VALID if found is None else f"invalid at {found.json_path}: {found.message}"[:300]


def _reads(read: Any) -> Any:
    def check(value: Any) -> bool:
        if isinstance(value, str):
            read(value)  # ValueError
        return True

    return check
