"""What compile() reports about a constraint: `constraint.report`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from grammarlm.masks.runtime.limits import Limits

if TYPE_CHECKING:
    from grammarlm.grammars.json_schema.report import KeywordReport


@dataclass
class CanonicalReport:
    """What canonical_only did so far."""

    rows_left_whole: int = 0  # rows not reduced: no token that the grammar allows was canonical there
    texts: int | None = None  # of a grammar that has few, each of which has one tokenization; None: more, or endless


@dataclass(frozen=True, repr=False)
class Report:
    """What compile() did with a grammar. Everything is enforced exactly, or compile() has refused it by name."""

    grammar: str
    limits: Limits
    byte_classes: int  # equivalence classes of bytes in the grammar
    tokens_spell_all: (
        # False: the vocabulary has no tokens for some single bytes; where there is a stack, texts must end by those it
        # has.
        bool
    )
    relaxed: tuple[str, ...] = field(default=())  # constructs enforced in part, on request only
    canonical: CanonicalReport | None = None  # with canonical_only
    caps: tuple[str, ...] = ()  # bounds that the engine adds to the language, and properties that it does not prove
    keywords: Callable[..., Iterable[KeywordReport]] | None = (
        None  # for a JSON schema: every keyword met, where, and how it is treated
    )

    def __getstate__(self) -> dict[str, Any]:
        """Pickled and copied with the lines of its keywords, without the schema that they are computed of."""
        lines = None if self.keywords is None else partial(tuple, tuple(self.keywords()))
        return {**self.__dict__, "keywords": lines}

    def __repr__(self) -> str:
        counts = f"relaxed: {len(self.relaxed)}, caps: {len(self.caps)}"
        return f"<Report of {self.grammar[:100]}: {counts}, {self.limits!r}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the author of a JSON schema may not know: keywords and formats that nobody has defined, or that are not
        read where they stand. Computed on demand."""
        if self.keywords is None:
            return ()
        return tuple(str(line) for line in self.keywords() if line.is_warning)
