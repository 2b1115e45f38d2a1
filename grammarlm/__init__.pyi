"""The public names for type checkers and editors: at run time __init__.py resolves them on first use."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, overload

from typing_extensions import Unpack

from .decoding.answers.events import Event as Event
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
from .decoding.byte_model.byte_model import ByteModel as ByteModel
from .decoding.decisions.decide import Decision as Decision
from .decoding.decisions.decide import decide as decide
from .decoding.diffusion.holes import Hole as Hole
from .decoding.diffusion.infill import infill as infill
from .decoding.generator import Generator as Generator
from .decoding.logits.apply_mask import apply_mask_ as apply_mask_
from .decoding.method_list import methods as methods
from .decoding.result import Result as Result
from .decoding.scoring.extract import extract as extract
from .decoding.scoring.rank import rank as rank
from .decoding.speculative.draft import Draft as Draft
from .device.automaton import DeviceAutomaton as DeviceAutomaton
from .device.loop import DeviceLoop as DeviceLoop
from .errors import GrammarError as GrammarError
from .errors import LimitExceeded as LimitExceeded
from .errors import MaskError as MaskError
from .errors import MissingPackage as MissingPackage
from .errors import SchemaWarning as SchemaWarning
from .errors import TokenizerError as TokenizerError
from .errors import TooManyCalls as TooManyCalls
from .errors import UnsatisfiableGrammar as UnsatisfiableGrammar
from .errors import UnsupportedFeature as UnsupportedFeature
from .grammars.capture import Capture as Capture
from .grammars.cfg.indent import Indent as Indent
from .grammars.choices import Choices as Choices
from .grammars.derived import Marked as Marked
from .grammars.ebnf.ebnf import Ebnf as Ebnf
from .grammars.ebnf.gbnf import Gbnf as Gbnf
from .grammars.items.special_token import Token as Token
from .grammars.items.token_list import TokenList as TokenList
from .grammars.items.tokens import Tokens as Tokens
from .grammars.json_schema.describe import describe as describe
from .grammars.json_schema.schema import JsonSchema as JsonSchema
from .grammars.lark.grammar import Lark as Lark
from .grammars.ltl.ltl import Ltl as Ltl
from .grammars.regular.regex import Regex as Regex
from .grammars.repeat import Repeat as Repeat
from .grammars.response_format import response_format as response_format
from .grammars.structural_tag.grammar import StructuralTag as StructuralTag
from .grammars.substring import Substring as Substring
from .grammars.template import Template as Template
from .grammars.text import Ban as Ban
from .grammars.text import Text as Text
from .grammars.tools.tool_format import ToolFormat as ToolFormat
from .grammars.tools.tools import Tools as Tools
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

_Type = TypeVar("_Type")
_Choice = TypeVar("_Choice", bound=Choice)
_Choices = Iterable[Choice] | Sequence[Iterable[Choice] | None] | None

class _Settings(TypedDict, total=False):
    """Of generate(), whose docstring says what each means; all but those that the type of the answer depends on."""

    tokenizer: Tokenizer
    vocab: Vocabulary | None
    regex: OneOrEach[Pattern]
    grammar: OneOrEach[AnyGrammar]
    items: OneOrEach[Items]
    response_format: OneOrEach[Mapping[str, Any] | str]
    where: OneOrEach[Where]
    tools: Sequence[Any] | None
    tool_choice: str | Mapping[str, Any]
    parallel: bool
    reasoning: int | bool | None
    tool_format: object
    chat_template: str | None
    chat_template_kwargs: Mapping[str, Any] | None
    max_tokens: int
    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    typical_p: float | None
    repetition_penalty: float
    seed: int | None
    stop: str | Sequence[str] | None
    close: bool
    heal: bool
    forced: str | None
    draft: object
    cache: str | None
    limits: Limits | None
    unknown: str
    method: str | Callable[..., list[Result]]
    batch_size: int
    progress: bool | None
    check: Callable[[Any], Any] | None
    retries: int
    feedback: bool
    probabilities: bool

# The value of an answer is of the type that schema= is, or one of choices=; else it is not typed. A number of answers that is not
# known to be 1 is taken for several. With options of a method the answer is not typed: list them after `method=` or `sampler=`.
@overload
def generate(  # type: ignore[overload-overlap]  # a text is a sequence of texts as well: the first that fits is meant
    model: Model, prompt: Prompt, *, schema: type[_Type], n: Literal[1] = 1, **settings: Unpack[_Settings]
) -> Result[_Type]: ...
@overload
def generate(  # type: ignore[overload-overlap]
    model: Model, prompt: Prompt, *, choices: Iterable[_Choice], n: Literal[1] = 1, **settings: Unpack[_Settings]
) -> Result[_Choice]: ...
@overload
def generate(  # type: ignore[overload-overlap]
    model: Model,
    prompt: Prompt,
    *,
    schema: Schema = None,
    choices: _Choices = None,
    n: Literal[1] = 1,
    **settings: Unpack[_Settings],
) -> Result: ...
@overload
def generate(
    model: Model, prompt: Sequence[Prompt], *, schema: type[_Type], n: int = 1, **settings: Unpack[_Settings]
) -> list[Result[_Type]]: ...
@overload
def generate(
    model: Model, prompt: Sequence[Prompt], *, choices: Iterable[_Choice], n: int = 1, **settings: Unpack[_Settings]
) -> list[Result[_Choice]]: ...
@overload
def generate(
    model: Model,
    prompt: Sequence[Prompt],
    *,
    schema: Schema = None,
    choices: _Choices = None,
    n: int = 1,
    **settings: Unpack[_Settings],
) -> list[Result]: ...
@overload
def generate(
    model: Model, prompt: Prompts, *, schema: type[_Type], n: int, **settings: Unpack[_Settings]
) -> list[Result[_Type]]: ...
@overload
def generate(
    model: Model, prompt: Prompts, *, choices: Iterable[_Choice], n: int, **settings: Unpack[_Settings]
) -> list[Result[_Choice]]: ...
@overload
def generate(
    model: Model,
    prompt: Prompts,
    *,
    schema: Schema = None,
    choices: _Choices = None,
    n: int,
    **settings: Unpack[_Settings],
) -> list[Result]: ...
@overload
def generate(model: Model, prompt: Prompts, *, method: str | Callable[..., list[Result]], **options: Any) -> Any: ...
@overload
def generate(model: Model, prompt: Prompts, *, sampler: object, **options: Any) -> Any: ...
def stream(
    model: Model,
    prompt: Prompts,
    *,
    schema: Schema = None,
    choices: _Choices = None,
    n: int = 1,
    **settings: Unpack[_Settings],
) -> Iterator[Event]: ...
@overload
async def agenerate(  # type: ignore[overload-overlap]  # a text is a sequence of texts as well: the first that fits is meant
    model: Model,
    prompt: Prompt,
    *,
    max_waiting: int = ...,
    schema: type[_Type],
    n: Literal[1] = 1,
    **settings: Unpack[_Settings],
) -> Result[_Type]: ...
@overload
async def agenerate(  # type: ignore[overload-overlap]
    model: Model,
    prompt: Prompt,
    *,
    max_waiting: int = ...,
    choices: Iterable[_Choice],
    n: Literal[1] = 1,
    **settings: Unpack[_Settings],
) -> Result[_Choice]: ...
@overload
async def agenerate(  # type: ignore[overload-overlap]
    model: Model,
    prompt: Prompt,
    *,
    max_waiting: int = ...,
    schema: Schema = None,
    choices: _Choices = None,
    n: Literal[1] = 1,
    **settings: Unpack[_Settings],
) -> Result: ...
@overload
async def agenerate(
    model: Model,
    prompt: Sequence[Prompt],
    *,
    max_waiting: int = ...,
    schema: type[_Type],
    n: int = 1,
    **settings: Unpack[_Settings],
) -> list[Result[_Type]]: ...
@overload
async def agenerate(
    model: Model,
    prompt: Sequence[Prompt],
    *,
    max_waiting: int = ...,
    choices: Iterable[_Choice],
    n: int = 1,
    **settings: Unpack[_Settings],
) -> list[Result[_Choice]]: ...
@overload
async def agenerate(
    model: Model,
    prompt: Sequence[Prompt],
    *,
    max_waiting: int = ...,
    schema: Schema = None,
    choices: _Choices = None,
    n: int = 1,
    **settings: Unpack[_Settings],
) -> list[Result]: ...
@overload
async def agenerate(
    model: Model, prompt: Prompts, *, max_waiting: int = ..., schema: type[_Type], n: int, **settings: Unpack[_Settings]
) -> list[Result[_Type]]: ...
@overload
async def agenerate(
    model: Model,
    prompt: Prompts,
    *,
    max_waiting: int = ...,
    choices: Iterable[_Choice],
    n: int,
    **settings: Unpack[_Settings],
) -> list[Result[_Choice]]: ...
@overload
async def agenerate(
    model: Model,
    prompt: Prompts,
    *,
    max_waiting: int = ...,
    schema: Schema = None,
    choices: _Choices = None,
    n: int,
    **settings: Unpack[_Settings],
) -> list[Result]: ...
def astream(
    model: Model,
    prompt: Prompts,
    *,
    max_waiting: int = ...,
    schema: Schema = None,
    choices: _Choices = None,
    n: int = 1,
    **settings: Unpack[_Settings],
) -> AsyncIterator[Event]: ...
