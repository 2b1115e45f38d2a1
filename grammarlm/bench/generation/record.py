"""The record of a schema for which texts were generated."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from grammarlm.bench.cases import Case
from grammarlm.bench.record import Record

STOP, LENGTH, TIME = "stop", "length", "time"  # how a text ended: by itself, or cut by a limit


@dataclass
class Output:
    """One text. Times in microseconds."""

    text: str
    tokens: int
    ended: str
    first_token: float  # prompt, mask and draw, until the first token is there; compiling not included
    later_tokens: float  # all others together
    verdict: str | None = None  # "valid", or why not, under the schema's own draft; None: not validated
    by_reference: bool = False  # valid by the rules of JSONSchemaBench's reference implementation
    # What a scripted model was to write, with its label; the output beside it.
    instance: int | None = None
    label: bool | None = None
    is_exact: bool = False  # the same text
    is_equal: bool = False  # the same value: properties in any order
    fields: float = 0.0  # share of fields, of the instance's and the output's together, that are the same

    @property
    def is_finished(self) -> bool:
        return self.ended == STOP

    @property
    def is_valid(self) -> bool:
        return self.is_finished and self.verdict == "valid"

    @property
    def is_reproduced(self) -> bool:
        return self.is_finished and self.is_equal

    @property
    def is_turned_away(self) -> bool:
        """An invalid instance was to be written: all that counts is that it did not come out, and what came instead."""
        return self.label is False and not self.is_finished

    def faults(self) -> dict[str, bool]:
        return {
            "invalid": self.is_finished and self.verdict != "valid",
            "cut": not self.is_finished and self.label is not False,
            "let through": self.label is False and self.is_reproduced,
            "not reproduced": self.label is True and not self.is_reproduced,
        }


@dataclass
class Generated(Record):
    """All outputs for a schema."""

    OUTCOMES: ClassVar[tuple[str, ...]] = (
        "broken", "crash", "timeout", "let through", "invalid", "not reproduced", "cut", "refused", "passing",
    )  # fmt: skip

    data_set: str = ""
    compile_time: float | None = None  # us
    outputs: list[Output] = field(default_factory=list)

    @classmethod
    def unanswered(cls, case: Case, **fields: Any) -> Generated:
        return cls(case.name, data_set=case.data_set, **fields)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Generated:
        return cls(**{**fields, "outputs": [Output(**output) for output in fields.get("outputs", ())]})

    def as_json(self) -> dict[str, Any]:
        fields = super().as_json()
        if self.outputs:
            fields["outputs"] = [_without_defaults(asdict(output)) for output in self.outputs]
        return fields

    @property
    def is_declared(self) -> bool:
        """The engine took the schema, or rightly told that nothing is valid; whatever became of it then."""
        return self.is_unsatisfiable or self.compile_time is not None or bool(self.outputs)

    def found(self) -> dict[str, bool]:
        faults = [output.faults() for output in self.outputs]
        return {**super().found(), **{name: any(each[name] for each in faults) for name in (faults or [{}])[0]}}

    def wrong(self) -> str:
        words = [super().wrong()]
        for output in self.outputs:
            names = [name for name, holds in output.faults().items() if holds]
            if names:
                of = "" if output.instance is None else f" (instance {output.instance})"
                why = f": {output.verdict}" if "invalid" in names else ""
                said = f"{', '.join(names)}{of}{why}"
                words.append(f"{said}: {output.text[:80]}" if output.text else said)
        return "; ".join(filter(None, words))


def _without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    always = {"text", "tokens", "label", "instance"}
    kept = {name: value for name, value in fields.items() if value is not None and (value or name in always)}
    return {**kept, **{name: round(fields[name], 1) for name in ("first_token", "later_tokens")}}
