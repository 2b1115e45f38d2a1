"""compile() for verbatim quotes (gl.Substring)."""

from __future__ import annotations

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.substring import Substring
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.regular.compile import regular_automaton
from grammarlm.masks.report import CanonicalReport, Report
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import SubstringEpoch
from .program import SubstringProgram
from .suffixes import suffixes_of

MOST_BYTES = 70  # of memory for a byte of the document, while its automaton is made
LARGEST = (1 << 31) // 3 - 2  # bytes: there may be three times as many edges


def substring_automaton(
    grammar: Substring, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    """A vocabulary that lacks a token for a byte of the document is left to the regular machine, which finds out from where tokens
    complete a piece."""
    clock = Clock(limits)
    size = len(grammar.text.encode("utf-8", "surrogatepass"))
    if MOST_BYTES * size > limits.max_bytes or size > LARGEST:
        raise LimitExceeded(
            f"the document has {size:,} bytes: its automaton takes about {MOST_BYTES * size:,} bytes while it is made, "
            f"limits.max_bytes is {limits.max_bytes:,}; give a part of the document, or raise the limit"
        )
    suffixes = suffixes_of(grammar, clock.check)
    used = sum(1 << byte for byte in np.unique(suffixes.byte).tolist())
    if used & ~token_facts(vocab).single_bytes:
        return regular_automaton(grammar, vocab, limits, canonical_only)
    program = SubstringProgram(suffixes, vocab, limits, clock)
    canonical = CanonicalReport() if canonical_only else None
    return Automaton(program, SubstringEpoch), Report(repr(grammar)[:200], limits, 256, True, canonical=canonical)
