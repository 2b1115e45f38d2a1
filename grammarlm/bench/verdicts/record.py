"""The record of a schema whose labelled instances an engine has judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from grammarlm.bench.cases import Case
from grammarlm.bench.record import Record


@dataclass
class Verdicts(Record):
    """An engine's verdicts on the labelled instances of a schema. Times in microseconds."""

    OUTCOMES: ClassVar[tuple[str, ...]] = (
        "broken", "crash", "timeout", "wrongly accepts", "wrongly rejects", "refused", "passing",
    )  # fmt: skip

    tests: int = 0
    first_mask: float | None = None  # compile + reset + first mask
    masks: list[float] = field(default_factory=list)  # mask + commit, for each token of each instance
    wrongly_accepts: list[int] = field(default_factory=list)  # indices of tests
    wrongly_rejects: list[int] = field(default_factory=list)

    def found(self) -> dict[str, bool]:
        return {
            **super().found(),
            "wrongly accepts": bool(self.wrongly_accepts),
            "wrongly rejects": bool(self.wrongly_rejects),
        }

    def wrong(self) -> str:
        words = [super().wrong()]
        words += [f"wrongly accepts {_tests(self.wrongly_accepts)}"] if self.wrongly_accepts else []
        words += [f"wrongly rejects {_tests(self.wrongly_rejects)}"] if self.wrongly_rejects else []
        return "; ".join(filter(None, words))

    @classmethod
    def unanswered(cls, case: Case, **fields: Any) -> Verdicts:
        return cls(case.name, tests=case.count(), **fields)

    def as_json(self) -> dict[str, Any]:
        """Times rounded to a tenth of a microsecond: there are millions of them."""
        fields = super().as_json()
        if "masks" in fields:
            fields["masks"] = [round(time, 1) for time in self.masks]
        return fields


def _tests(numbers: list[int]) -> str:
    return f"test {numbers[0]}" if len(numbers) == 1 else f"tests {', '.join(map(str, numbers))}"
