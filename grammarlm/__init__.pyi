"""The public names for type checkers and editors: at run time __init__.py resolves them on first use."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, overload

from .decoding.argument_types import (
    AnyGrammar,
    Choice,
    Items,
    Model,
    OneOrEach,
    Pattern,
    Prompt,
    Prompts,
    Schema,
    Tokenizer,
    Where,
)
from .decoding.diffusion.holes import Hole as Hole
from .decoding.diffusion.infill import infill as infill
from .decoding.events import Event as Event
from .decoding.generator import Generator as Generator
from .decoding.logits.apply_mask import apply_mask_ as apply_mask_
from .decoding.result import Result as Result
from .decoding.speculative.draft import Draft as Draft
from .decoding.stream import stream as stream
from .device.automaton import DeviceAutomaton as DeviceAutomaton
from .device.loop import DeviceLoop as DeviceLoop
from .errors import GrammarError as GrammarError
from .errors import LimitExceeded as LimitExceeded
from .errors import MaskError as MaskError
from .errors import MissingPackage as MissingPackage
from .errors import SchemaWarning as SchemaWarning
from .errors import TokenizerError as TokenizerError
from .errors import UnsatisfiableGrammar as UnsatisfiableGrammar
from .errors import UnsupportedFeature as UnsupportedFeature
from .grammars.cfg.indent import Indent as Indent
from .grammars.choices import Choices as Choices
from .grammars.ebnf.ebnf import Ebnf as Ebnf
from .grammars.ebnf.gbnf import Gbnf as Gbnf
from .grammars.items.special_token import Token as Token
from .grammars.items.token_list import TokenList as TokenList
from .grammars.items.tokens import Tokens as Tokens
from .grammars.json_schema.schema import JsonSchema as JsonSchema
from .grammars.lark.grammar import Lark as Lark
from .grammars.regular.regex import Regex as Regex
from .grammars.text import Ban as Ban
from .grammars.text import Text as Text
from .integrations.transformers import LogitsProcessor as LogitsProcessor
from .masks.batch import fill_masks as fill_masks
from .masks.compiler import Compiler as Compiler
from .masks.constraint import Constraint as Constraint
from .masks.constraint import compile as compile
from .masks.draft_tree import MaskTree as MaskTree
from .masks.draft_tree import fill_tree as fill_tree
from .masks.draft_tree import fill_trees as fill_trees
from .masks.mask_array import allocate_mask as allocate_mask
from .masks.matcher import Matcher as Matcher
from .masks.runtime.limits import Limits as Limits
from .models.tiny import load_tiny as load_tiny
from .retrieval.device_items import DeviceItems as DeviceItems
from .retrieval.item_set import ItemSet as ItemSet
from .vocab.vocabulary import Vocabulary as Vocabulary

__version__: str
__all__: list[str]

# A number of answers that is not known to be 1 is taken for several. `generate.__doc__` says what each argument means.
@overload
def generate(  # type: ignore[overload-overlap]  # a text is a sequence of texts as well: the first that fits is meant
    model: Model,
    prompt: Prompt,
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    schema: Schema = None,
    regex: OneOrEach[Pattern] = None,
    grammar: OneOrEach[AnyGrammar] = None,
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None,
    items: OneOrEach[Items] = None,
    where: OneOrEach[Where] = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    typical_p: float | None = None,
    repetition_penalty: float = 1.0,
    seed: int | None = None,
    n: Literal[1] = 1,
    close: bool = True,
    heal: bool = False,
    forced: str = "score",
    draft: object = None,
    cache: str | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    method: str | Callable[..., list[Result]] = "masked",
    batch_size: int = ...,
    progress: bool | None = None,
    **options: object,
) -> Result: ...
@overload
def generate(
    model: Model,
    prompt: Sequence[Prompt],
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    schema: Schema = None,
    regex: OneOrEach[Pattern] = None,
    grammar: OneOrEach[AnyGrammar] = None,
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None,
    items: OneOrEach[Items] = None,
    where: OneOrEach[Where] = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    typical_p: float | None = None,
    repetition_penalty: float = 1.0,
    seed: int | None = None,
    n: int = 1,
    close: bool = True,
    heal: bool = False,
    forced: str = "score",
    draft: object = None,
    cache: str | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    method: str | Callable[..., list[Result]] = "masked",
    batch_size: int = ...,
    progress: bool | None = None,
    **options: object,
) -> list[Result]: ...
@overload
def generate(
    model: Model,
    prompt: Prompts,
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    schema: Schema = None,
    regex: OneOrEach[Pattern] = None,
    grammar: OneOrEach[AnyGrammar] = None,
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None,
    items: OneOrEach[Items] = None,
    where: OneOrEach[Where] = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    typical_p: float | None = None,
    repetition_penalty: float = 1.0,
    seed: int | None = None,
    n: int,
    close: bool = True,
    heal: bool = False,
    forced: str = "score",
    draft: object = None,
    cache: str | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    method: str | Callable[..., list[Result]] = "masked",
    batch_size: int = ...,
    progress: bool | None = None,
    **options: object,
) -> list[Result]: ...
