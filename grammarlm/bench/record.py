"""What an engine said of one case, and the outcomes that follow from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# In the order in which a case that has several is named.
OUTCOMES = ("crash", "timeout", "wrongly accepts", "wrongly rejects", "refused", "passing")


@dataclass
class Record:
    """One line of the file of results. Times in microseconds."""

    case: str
    tests: int = 0
    first_mask: float | None = None  # compile, begin a text, first mask
    masks: list[float] = field(default_factory=list)  # mask + commit, each token of each instance
    refused: str | None = None  # what compile said
    is_unsatisfiable: bool = False  # it said that no instance is valid, and none of the tests' is
    wrongly_accepts: list[int] = field(default_factory=list)  # numbers of tests
    wrongly_rejects: list[int] = field(default_factory=list)
    timeout: bool = False
    crash: str | None = None  # how the process ended, or what was raised where nothing may be
    nbytes: int | None = None  # of the compiled schema, after all its instances
    peak_bytes: int = 0  # of the process, until now

    def outcomes(self) -> set[str]:
        """All that hold: wrong accepts do not hide wrong rejects; `passing` is alone."""
        found = {
            "crash": self.crash is not None,
            "timeout": self.timeout,
            "wrongly accepts": bool(self.wrongly_accepts),
            "wrongly rejects": bool(self.wrongly_rejects),
            "refused": self.refused is not None,
        }
        return {name for name, holds in found.items() if holds} or {"passing"}

    def as_json(self) -> dict[str, Any]:
        """Without what is empty, and times to a tenth of a microsecond: there are millions of them."""
        fields = {name: value for name, value in asdict(self).items() if value not in (None, False, [], 0)}
        if "masks" in fields:
            fields["masks"] = [round(time, 1) for time in self.masks]
        return fields

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Record:
        return cls(**fields)
