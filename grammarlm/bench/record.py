"""The result of an engine on one case, and the outcomes derived from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# Worst first: a case with several is named by the first.
OUTCOMES = ("crash", "timeout", "wrongly accepts", "wrongly rejects", "refused", "passing")


@dataclass
class Record:
    """One line of the results file. Times in microseconds."""

    case: str
    tests: int = 0
    first_mask: float | None = None  # compile + reset + first mask
    masks: list[float] = field(default_factory=list)  # mask + commit, for each token of each instance
    refused: str | None = None  # the error of compile
    is_unsatisfiable: bool = False  # refused as unsatisfiable, and no test instance is valid
    wrongly_accepts: list[int] = field(default_factory=list)  # indices of tests
    wrongly_rejects: list[int] = field(default_factory=list)
    timeout: bool = False
    crash: str | None = None  # how the process ended, or an unexpected exception
    nbytes: int | None = None  # size of the compiled schema, after all its instances
    peak_bytes: int = 0  # peak of the process so far

    def outcomes(self) -> set[str]:
        """All outcomes of the case: wrong accepts do not hide wrong rejects; `passing` only by itself."""
        found = {
            "crash": self.crash is not None,
            "timeout": self.timeout,
            "wrongly accepts": bool(self.wrongly_accepts),
            "wrongly rejects": bool(self.wrongly_rejects),
            "refused": self.refused is not None,
        }
        return {name for name, holds in found.items() if holds} or {"passing"}

    def as_json(self) -> dict[str, Any]:
        """Without empty fields, and times rounded to a tenth of a microsecond: there are millions of them."""
        fields = {name: value for name, value in asdict(self).items() if value not in (None, False, [], 0)}
        if "masks" in fields:
            fields["masks"] = [round(time, 1) for time in self.masks]
        return fields

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Record:
        return cls(**fields)
