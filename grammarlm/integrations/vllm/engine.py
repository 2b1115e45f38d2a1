"""What one engine's requests share: the vocabulary of its model, and a compiler of grammars."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vllm.tokenizers import cached_tokenizer_from_config

from grammarlm.grammars.tools.tools import Tools
from grammarlm.integrations.serving.compiling import USUAL_BYTES, warm_compiler
from grammarlm.integrations.serving.served_row import ServedRow
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.mask_array import allocate_mask
from grammarlm.masks.runtime.limits import POLITE
from grammarlm.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from vllm.config import VllmConfig

    from grammarlm.grammars.compose import Grammar
    from grammarlm.integrations.serving.options import Options

LOOKED_AT = 1_000  # last tokens of a prompt, in which a thought may have been opened
AT_ONCE = 0.008  # seconds that the scheduler waits for a grammar; what takes longer is made while it goes on


class Engine:
    """Made once in each process that masks."""

    def __init__(self, vllm_config: VllmConfig, tokenizer: Any = None):
        model = vllm_config.model_config
        if tokenizer is None:
            tokenizer = cached_tokenizer_from_config(model_config=model)
        if tokenizer is None:
            raise ValueError("grammarlm needs the model's tokenizer: start vLLM without skip_tokenizer_init")
        self.most_tokens = int(model.max_model_len)
        self.vocab = Vocabulary.from_tokenizer(tokenizer, size=model.get_vocab_size(), stop_ids=_ends(model, tokenizer))
        own = (getattr(vllm_config, "additional_config", None) or {}).get("grammarlm") or {}
        # --additional-config '{"grammarlm": {"max_bytes": ...}}' bounds the constraints that are held
        self.compiler = warm_compiler(self.vocab, own.get("max_bytes", USUAL_BYTES))
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="grammarlm")
        self._preparing: dict[
            Grammar, Future[Constraint]
        ] = {}  # what the scheduler has asked for; it asks from one thread

    def row(self, options: Options, stop_ids: set[int], most: int | None) -> ServedRow:
        """The row of a request, compiled here if nobody has done it before. `most`: tokens that the answer may have."""
        row = ServedRow(self.vocab, stop_ids, min_tokens=options.min_tokens)
        assert options.grammar is not None
        try:
            constraint: Constraint = self.compiler.compile(options.grammar)
        except Exception as error:
            row.fail(error)
            return row
        return row.start(constraint, most, options.close)

    def after_prompt(
        self, options: Options, prompt: Callable[[], Sequence[int]], *, thinks_freely: bool = False
    ) -> Options:
        """A turn of tools goes on where its prompt has opened, or ended, a thought. `thinks_freely`: it begins after one."""
        turn = options.grammar
        if not isinstance(turn, Tools) or turn.format.reasoning is None:
            return options
        last = turn.format.reasoning[1]
        if not thinks_freely:
            last = b"".join(map(self.vocab.token_bytes, prompt()[-LOOKED_AT:])).decode(errors="replace")
        return replace(options, grammar=turn.after(last))

    def compiled_at_once(self, grammar: Grammar) -> Constraint | None:
        """The constraint where it is held, or made in a moment; None where others go on making it."""
        future = self._preparing.get(grammar)
        if future is None:
            if found := self.compiler.held(grammar):
                return found
            future = self._preparing[grammar] = self._pool.submit(self.prepared, grammar)
            future.add_done_callback(lambda _: self._preparing.pop(grammar, None))
        try:
            return future.result(AT_ONCE)
        except TimeoutError:
            return None

    def prepared(self, grammar: Grammar) -> Constraint:
        """The constraint, with what the first text of its grammar would wait for: its shortest end, and its first mask."""
        with POLITE:  # the threads that schedule and sample come first
            constraint = self.compiler.compile(grammar)
            with contextlib.suppress(ValueError):  # a limit, say: the row of the request meets it again, and says so
                constraint.matcher(max_tokens=self.most_tokens).fill_mask(allocate_mask(1, self.vocab.size))
        return constraint

    def close(self) -> None:
        """What has not begun to be made is not made any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.compiler.clear()

    def room(self, max_tokens: int | None, prompt: int) -> int:
        """The tokens that an answer may have: those asked for, and those that the model has room for."""
        left = self.most_tokens - prompt
        return left if max_tokens is None else min(max_tokens, left)


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a text: the tokenizer's, and those of the model's generation config."""
    found = [getattr(tokenizer, "eos_token_id", None)]
    named = model.try_get_generation_config().get("eos_token_id")
    found += named if isinstance(named, list) else [named]
    return sorted({token for token in found if isinstance(token, int) and 0 <= token < model.get_vocab_size()})
