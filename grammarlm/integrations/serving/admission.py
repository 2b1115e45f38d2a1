"""Is a request's grammar fine, and cheap enough? Asked where requests come in, which must not be held up.

There is no tokenizer there, and hardly any time: a server validates requests on its event loop. The grammar is compiled over a
vocabulary of the 256 bytes, where names of special tokens are text. That refuses nearly what compile over the model's vocabulary
refuses, and its tables are tiny. Work and time are bounded there: the loop comes first. Verdicts are remembered, constraints are
not.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.ebnf.gbnf import Gbnf
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lark.grammar import Lark
from grammarlm.grammars.regular.regex import Regex
from grammarlm.masks.constraint import compile
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.byte_vocabulary import byte_vocabulary

REMEMBERED = 8_192  # verdicts
# On an event loop; the time is for steps that are slow. What is compiled in the background later is looked at in passing.
ON_THE_LOOP = Limits(max_work=120, max_ms=45)
IN_PASSING = Limits(max_work=30, max_ms=10)
ELSEWHERE = Limits(max_ms=60_000)

_verdicts: OrderedDict[bytes, str] = OrderedDict()
_lock = threading.Lock()


@cache
def warm() -> None:
    """Loads what the first requests would wait for: tables of the 256 bytes, formats, kernels, modules."""
    strings = {name: {"type": "string", "format": name} for name in ("date-time", "email", "hostname", "uri", "uuid")}
    schema = {
        "type": "object",
        "properties": {**strings, "x": {"type": "number"}, "y": {"type": "array", "minItems": 1}},
    }
    for grammar in (
        JsonSchema(schema).as_generated(),
        Regex("a+b"),
        Gbnf('root ::= "a" root | "b"'),
        Lark('start: "a" B\nB: /b+/'),
    ):
        compile(grammar, byte_vocabulary())


def admit(grammar: Grammar, *, in_background: bool = False) -> None:
    """GrammarError where the grammar is refused, or takes too much work to be admitted on an event loop.

    `in_background`: it will be compiled where nothing waits; what takes too long here is left to that.
    """
    limits = ELSEWHERE if not is_on_event_loop() else IN_PASSING if in_background else ON_THE_LOOP
    try:
        compile(grammar, byte_vocabulary(), limits=limits)
    except LimitExceeded as error:
        if limits is ELSEWHERE or not ("max_work" in str(error) or "max_ms" in str(error)):
            raise
        if in_background:
            return
        raise LimitExceeded(
            "the grammar takes more work to compile than a server may do while it receives requests; make it smaller, or ask "
            "for it by response_format or structured_outputs, which compile in the background (GRAMMARLM_VLLM_BACKEND=1)"
        ) from None


def remembered(text: str, judge: Callable[[], None]) -> None:
    """Calls `judge`, which raises ValueError where a request is refused, unless this text of a request has been judged before.

    Limits are not remembered: they may have been reached because the machine was busy.
    """
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    with _lock:
        verdict = _verdicts.get(key)
    if verdict is None:
        verdict = ""
        try:
            judge()
        except LimitExceeded:
            raise
        except ValueError as error:
            verdict = str(error) or type(error).__name__
        with _lock:
            _verdicts[key] = verdict
            while len(_verdicts) > REMEMBERED:
                _verdicts.popitem(last=False)
    if verdict:
        raise ValueError(verdict)


def is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
