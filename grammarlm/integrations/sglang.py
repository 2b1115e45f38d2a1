"""SGLang's json_schema, regex, ebnf and structural_tag, served by grammarlm: a grammar backend in its public registry.

    pip install grammarlm-sglang        (plugins/grammarlm-sglang: the entry point that runs `register` in each process)
    sglang serve --model-path ... --grammar-backend grammarlm

SGLang compiles in threads of the process that schedules, fills masks there, and reports a grammar's error to its request alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch

if find_spec("sglang") is None:
    raise ImportError(
        "grammarlm.integrations.sglang is for use inside SGLang, which is not installed: pip install sglang"
    )

from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarRow,
    GrammarStats,
    InvalidGrammarObject,
    register_grammar_backend,
)

from grammarlm.decoding.logits.apply_mask import apply_mask_
from grammarlm.grammars.compose import Grammar
from grammarlm.masks.constraint import Constraint
from grammarlm.masks.runtime.limits import POLITE
from grammarlm.vocab.vocabulary import Vocabulary

from .serving.compiling import warm_compiler
from .serving.options import read_options
from .serving.served_row import ServedRow, fill_rows

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

NAME = "grammarlm"
ANY_JSON = "$$ANY$$"  # SGLang's word for {"type": "json_object"}
FORMS = {
    "json": "schema",
    "regex": "regex",
    "ebnf": "grammar",
    "full_assistant_ebnf": "grammar",
    "structural_tag": "structural_tag",
}
LOOKED_UP = 1 << 16  # characters of a grammar that the scheduler itself reads to see whether it is held


class RequestGrammar(BaseGrammarObject):
    """One request's text in its grammar."""

    def __init__(self, vocab: Vocabulary, constraint: Constraint):
        super().__init__()
        self.vocab, self.constraint = vocab, constraint
        self.row = ServedRow(vocab).start(constraint)

    def accept_token(self, token: int) -> None:
        """SGLang takes a ValueError for the end of this request, and answers with its message."""
        if not self.finished and (not self.row.read(token) or self.row.error):
            raise ValueError(self.row.error)

    def rollback(self, k: int) -> None:
        self.row.rollback(k)

    def is_terminated(self) -> bool:
        return self.row.has_ended

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: object) -> torch.Tensor:
        return untouched(batch_size, self.vocab)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        self.row.fill(vocab_mask.numpy(), idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
        """The rows of a step: those that stand beside each other in one call."""
        if not all(isinstance(entry.grammar, RequestGrammar) for entry in entries):  # some are free to think
            BaseGrammarObject.fill_vocab_mask_batched(entries, vocab_mask)
            return
        array, first = vocab_mask.numpy(), 0
        for end in range(1, len(entries) + 1):
            if end == len(entries) or entries[end].row != entries[end - 1].row + 1:
                fill_rows([entry.grammar.row for entry in entries[first:end]], array[entries[first].row :])
                first = end

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        apply_mask_(logits, vocab_mask.numpy() if vocab_mask.is_cpu else vocab_mask)

    def copy(self) -> RequestGrammar:
        """Of the same grammar, from its beginning."""
        return RequestGrammar(self.vocab, self.constraint)

    def try_jump_forward(self, tokenizer: object) -> None:
        return None


def untouched(rows: int, vocab: Vocabulary) -> torch.Tensor:
    """Masks that allow everything."""
    return torch.full((rows, vocab.words), -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())


class Backend(BaseGrammarBackend):
    """Compiles over the model's vocabulary; equal grammars once, and no more of them are held than fit in the compiler's bytes."""

    def __init__(self, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None):
        super().__init__()
        stop_ids = {*(eos_token_ids or ()), *(getattr(tokenizer, "additional_stop_token_ids", None) or ())}
        if isinstance(own := getattr(tokenizer, "eos_token_id", None), int):
            stop_ids.add(own)
        known = sorted(token for token in stop_ids if 0 <= token < vocab_size)
        self.vocab = Vocabulary.from_tokenizer(tokenizer, size=vocab_size, stop_ids=known)
        self.compiler = warm_compiler(self.vocab)

    def get_cached_or_future_value(
        self, key: tuple[str, str], require_reasoning: bool
    ) -> tuple[BaseGrammarObject | Future[BaseGrammarObject], bool]:
        if isinstance(key[1], str) and len(key[1]) <= LOOKED_UP:
            try:
                held = self.compiler.held(grammar_of(*key))
            except ValueError:  # a thread says so
                held = None
            if held is not None:
                return RequestGrammar(self.vocab, held), True
        return self.executor.submit(self._init_value_dispatch, key, require_reasoning), False

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """The compiler holds what fits; SGLang's dict would hold everything."""

    def reset(self) -> None:
        self.compiler.clear()

    # What leaves reasoning free asks the backend, not a grammar, since a request may have none.

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: object) -> torch.Tensor:
        return untouched(batch_size, self.vocab)

    move_vocab_mask = staticmethod(RequestGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(RequestGrammar.apply_vocab_mask)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        return self._compiled("json", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._compiled("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        return self._compiled("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        return self._compiled("structural_tag", key_string)

    def _compiled(self, kind: str, spec: str) -> BaseGrammarObject:
        try:
            with POLITE:  # the thread that schedules comes first
                made = RequestGrammar(self.vocab, self.compiler.compile(grammar_of(kind, spec)))
        except Exception as error:  # of whatever kind, it is this request's
            return InvalidGrammarObject(str(error) or type(error).__name__)
        made.grammar_stats = GrammarStats(dispatch_type=kind)
        return made


def grammar_of(kind: str, spec: str) -> Grammar:
    """ValueError where the text is no grammar of its kind."""
    if kind not in FORMS:
        raise ValueError(f"{kind} is no kind of grammar that grammarlm knows")
    options: dict[str, Any] = {FORMS[kind]: True if kind == "json" and spec == ANY_JSON else spec}
    if FORMS[kind] == "grammar":
        options["notation"] = "ebnf"
    found = read_options(options).grammar
    assert found is not None
    return found


def make_backend(
    server_args: ServerArgs, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None = None
) -> BaseGrammarBackend:
    """What SGLang's registry calls. SGLang puts a backend that leaves reasoning free around its own ones, not around others."""
    from sglang.srt.runtime_context import get_serving

    backend: BaseGrammarBackend = Backend(tokenizer, vocab_size, eos_token_ids)
    serving = get_serving()
    if not serving.reasoning_parser:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    return ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking)


def register() -> None:
    """Idempotent; SGLang runs it in each of its processes before it reads its arguments."""
    from sglang.srt.arg_groups import choices

    if NAME not in choices.GRAMMAR_BACKEND_CHOICES:
        choices.add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, make_backend)
