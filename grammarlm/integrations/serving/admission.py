"""Is a request's grammar fine, and cheap enough? Asked where requests come in, which must not be held up.

There is no tokenizer there, and hardly any time: a server validates requests on its event loop. The grammar is compiled over a
vocabulary of the 256 bytes. That refuses nearly what compile over the model's vocabulary refuses, and its tables are tiny. Its work
is bounded in steps, not in seconds: the answer is the same on a busy machine.
"""

from __future__ import annotations

import asyncio
from functools import cache

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.compiler import Compiler
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

HELD_BYTES = 64 << 20  # of what was admitted
# About 30 ms on the machine of docs/figures; a loop that stalls at another place than a step is caught by the time.
ON_THE_LOOP = Limits(max_work=600, max_ms=1_000, max_mask_work=600)
ELSEWHERE = Limits(max_ms=60_000)


@cache
def compiler() -> Compiler:
    """Over the 256 bytes, and one id that ends the text."""
    return Compiler(Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256]), max_bytes=HELD_BYTES)


def admit(grammar: Grammar, *, in_background: bool = False) -> None:
    """GrammarError where the grammar is refused, or takes too much work to be admitted on an event loop.

    `in_background`: it will be compiled where nothing waits; what takes too long here is left to that.
    """
    limits = ON_THE_LOOP if is_on_event_loop() else ELSEWHERE
    try:
        compiler().compile(grammar, limits=limits)
    except LimitExceeded as error:
        if limits is ELSEWHERE or not ("max_work" in str(error) or "max_ms" in str(error)):
            raise
        if in_background:
            return
        raise LimitExceeded(
            "the grammar takes more work to compile than a server may do while it receives requests; make it smaller, or ask "
            "for it by response_format or structured_outputs, which compile in the background (GRAMMARLM_VLLM_BACKEND=1)"
        ) from None


def is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
