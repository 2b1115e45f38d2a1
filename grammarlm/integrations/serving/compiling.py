"""The compiler of a server's grammars: one for each process that masks."""

from __future__ import annotations

import logging
import math

from grammarlm.collector import PATIENT
from grammarlm.grammars.ebnf.gbnf import Gbnf
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.kernels import entries
from grammarlm.masks.compiler import Compiler, Key
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.messages.unknown_words import tell
from grammarlm.masks.runtime.limits import POLITE, Limits
from grammarlm.vocab.vocabulary import Vocabulary

LOGGER = logging.getLogger("grammarlm.serving")
# Of masks the work is bounded and not the time: the ranks of one engine must agree, whatever their clocks say.
LIMITS = Limits(max_ms=60_000, max_mask_ms=math.inf, max_mask_work=20_000)
USUAL_BYTES = 128 << 20  # of constraints that are held


class ServerCompiler(Compiler):
    """Clients get no warnings: the log tells of a schema's unknown words, once a schema. A request with "unknown": "refuse" is
    refused where it comes in."""

    def _weigh(self, key: Key, constraint: Constraint) -> None:
        """In the background, after a compile."""
        super()._weigh(key, constraint)
        with POLITE:
            tell(constraint, lambda news: LOGGER.warning("%s", news))


def warm_compiler(vocab: Vocabulary, max_bytes: int = USUAL_BYTES) -> Compiler:
    """A compiler that has loaded what its first request would wait for."""
    PATIENT.is_enabled = False  # a server has its own rules for Python's collector
    compiler = ServerCompiler(vocab, limits=LIMITS, max_bytes=max_bytes)
    entries.load()
    for grammar in (JsonSchema(True).as_generated(), Regex("a"), Gbnf('root ::= "a" root | "b"')):
        compiler.compile(grammar).matcher().fill_mask(allocate_mask(1, vocab.size))
    return compiler
