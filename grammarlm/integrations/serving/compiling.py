"""The compiler of a server's grammars: one for each process that masks."""

from __future__ import annotations

import math

from grammarlm.grammars.ebnf.gbnf import Gbnf
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.kernels import entries
from grammarlm.masks.compiler import Compiler
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.runtime.collector import PATIENT
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

# Of masks the work is bounded and not the time: the ranks of one engine must agree, whatever their clocks say.
LIMITS = Limits(max_ms=60_000, max_mask_ms=math.inf, max_mask_work=20_000)
USUAL_BYTES = 128 << 20  # of constraints that are held


def warm_compiler(vocab: Vocabulary, max_bytes: int = USUAL_BYTES) -> Compiler:
    """A compiler that has loaded what its first request would wait for."""
    PATIENT.is_enabled = False  # a server has its own rules for Python's collector
    compiler = Compiler(vocab, limits=LIMITS, max_bytes=max_bytes)
    entries.load()
    for grammar in (JsonSchema(True).as_generated(), Regex("a"), Gbnf('root ::= "a" root | "b"')):
        compiler.compile(grammar).matcher().fill_mask(allocate_mask(1, vocab.size))
    return compiler
