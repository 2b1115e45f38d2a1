"""The result of an engine on one case, and the outcomes derived from it: what the records of every benchmark have."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

from .cases import Case

Each = TypeVar("Each", bound="Record")


@dataclass
class Record:
    """One line of a results file."""

    # Worst first: a case with several is named by the first.
    OUTCOMES: ClassVar[tuple[str, ...]] = ("broken", "crash", "timeout", "refused", "passing")

    case: str
    broken: str | None = None  # the file is no case: no engine has seen it
    refused: str | None = None  # the error of compile
    is_unsatisfiable: bool = False  # refused as unsatisfiable, and no test instance is valid
    timeout: bool = False
    crash: str | None = None  # how the process ended, or an unexpected exception
    nbytes: int | None = None  # size of the compiled schema, after all its instances
    peak_bytes: int = 0  # peak of the process so far

    def found(self) -> dict[str, bool]:
        """Which outcomes the case has, `passing` aside."""
        return {
            "broken": self.broken is not None,
            "crash": self.crash is not None,
            "timeout": self.timeout,
            "refused": self.refused is not None,
        }

    def outcomes(self) -> set[str]:
        """All outcomes of the case: wrong accepts do not hide wrong rejects; `passing` only by itself."""
        return {name for name, holds in self.found().items() if holds} or {"passing"}

    def worst(self) -> str:
        return min(self.outcomes(), key=self.OUTCOMES.index)

    def wrong(self) -> str:
        """What is wrong, in words."""
        words = [f"{name}: {said}" for name in ("broken", "crash") if (said := getattr(self, name)) is not None]
        words += ["timeout"] if self.timeout else []
        words += [f"refused: {self.refused}"] if self.refused is not None else []
        return "; ".join(words)

    def refuse(self, error: Exception, engine: Any, labels: list[bool]) -> None:
        """Notes that compile refused the schema; where it says that nothing is valid, and the labels agree, that is right."""
        says_so = isinstance(error, getattr(engine, "unsatisfiable", ()))
        self.is_unsatisfiable = says_so and bool(labels) and not any(labels)
        if not self.is_unsatisfiable:
            self.refused = f"{type(error).__name__}: {error}"[:300]

    @classmethod
    def unanswered(cls: type[Each], case: Case, **fields: Any) -> Each:
        """The record of a case whose process did not live to answer."""
        return cls(case.name, **fields)

    def as_json(self) -> dict[str, Any]:
        """Without empty fields: there are many of them."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False, [], 0)}

    @classmethod
    def from_json(cls: type[Each], fields: dict[str, Any]) -> Each:
        return cls(**fields)
