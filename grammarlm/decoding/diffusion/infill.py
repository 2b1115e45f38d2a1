"""infill(): rows with holes, filled in by a model under a constraint.

out = gl.infill(model, ["Say ", gl.Hole(3), "."], tokenizer=tokenizer, regex=r"Say [a-z ]+\\.")
out.text, out.tokens, out.stats.trace

gl.infill(model, [-1] * 64, tokenizer=tokenizer, schema=Person, prompt="Ada, 36.\\n", sampler="entropy", steps=16)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from grammarlm.decoding.answers.answer_format import filled_format
from grammarlm.decoding.argument_types import AnyGrammar, Choice, Items, Model, Pattern, Prompt, Schema, Tokenizer
from grammarlm.decoding.arguments import check_choice, check_integer, check_vocabulary, prompt_ids
from grammarlm.decoding.compiled_caches import stop_ids_of, tokenizer_of, vocabulary_of
from grammarlm.decoding.fit import count_of, warn_of_dropout, warn_of_width
from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.readers.mask_facts import CAUSAL, kind_of
from grammarlm.decoding.readers.model_facts import check_no_tokenizer, width_of
from grammarlm.decoding.request import compile_format
from grammarlm.decoding.result import Result
from grammarlm.grammars.json_schema.schema import UNKNOWN
from grammarlm.kernels import entries
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .denoiser import Denoiser, checked_mask
from .draws import Draws
from .filling import Filling, Plan
from .holes import MASKED, read_holes


def infill(
    model: Model,
    holes: Any,
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    mask_id: int | None = None,
    prompt: Prompt | None = None,
    schema: Schema = None,
    regex: Pattern | None = None,
    grammar: AnyGrammar | None = None,
    choices: Iterable[Choice] | None = None,
    items: Items | None = None,
    sampler: str | None = None,
    steps: int | None = None,
    block: int | None = None,
    temperature: float = 0.0,
    seed: int | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    **options: Any,
) -> Result:
    """A row without holes: what is given stays as it is, and the whole row is a text of the constraint.

    **The model**

    model        any callable from ids [B, L] to logits [B, L, V] (or to an object with .logits) that fills in masks: masked LMs,
                 LLaDA, Dream. An autoregressive model of transformers fills in from left to right
    tokenizer    says what the ids mean; default: the one stored where the model was loaded from. Or vocab, a gl.Vocabulary
    mask_id      the id that the model sees where one is missing; default: the tokenizer's or the config's mask token
    prompt       text or ids that the model sees before the row; the constraint does not

    **The row**

    holes        ids, with -1 where one is missing; or a list of text pieces and gl.Hole(n), gl.Hole(most=n)

    **The constraint**, at most one of these, as in gl.generate: schema, regex, grammar, choices, items. JSON has any white
    space (gl.JsonSchema(..., whitespace="compact") asks for less) and is spelled as json.dumps does: what is given, too. A text
    that does not fill the row is followed by stop ids. Without a constraint every id is allowed that is neither special, nor a stop
    id, nor the mask

    **How**

    sampler      a name in grammarlm.decoding.diffusion.SAMPLERS, or a function from a Look to a Choice; default: "confidence",
                 and one by one for autoregressive models
    steps        the most steps: each commits at least what that asks for. None: as many as positions are masked
    block        fill in blocks of this size, from left to right; of more blocks than steps some are filled in together
    temperature  0: the best ids; else ids are drawn, with `seed`
    limits       a gl.Limits: bounds on compiling the constraint and on each step
    unknown      keywords and formats of a schema that nobody has defined: "warn" (once a schema) or "refuse"
    options      of the sampler: tau=, alpha=, window=, ...; of a driver also inner=, the sampler inside it, and its options

    `out.tokens` is the whole row, without the positions by which a hole has shrunk; `out.text` ends before the first stop id.
    `out.stats.trace` has what each step did.
    """
    tokenizer = tokenizer_of(model) if tokenizer is None and vocab is None else tokenizer
    check_vocabulary(tokenizer, vocab)
    kind = checked_kind(model)
    sampling = Sampling(temperature, seed=seed)
    check_integer("steps", steps, 1, optional=True)
    check_integer("block", block, 1, optional=True)
    check_choice("unknown", unknown, UNKNOWN)
    plan = one_by_one(sampler, block, options) if kind == CAUSAL else Plan.of(sampler or "confidence", block, options)
    form = filled_format(schema=schema, regex=regex, grammar=grammar, choices=choices, items=items)
    start = perf_counter()
    width, tokens = width_of(model), None if vocab is None else vocab.size
    vocab = vocab or vocabulary_of(tokenizer, width, stop_ids_of(model, tokenizer))
    if width is not None:
        warn_of_width(tokens or count_of(tokenizer, vocab), width)
    warn_of_dropout(model, stacklevel=3)
    entries.load("masks", "logits")
    constraint, was_cached = compile_format(form, vocab, limits, unknown)
    seconds = perf_counter() - start
    before = [] if prompt is None else prompt_ids(prompt, tokenizer, vocab, width)
    mask_id = checked_mask(mask_id, model, tokenizer, kind)
    reader = Denoiser(model, vocab.size, mask_id, before or first_ids(kind, tokenizer), kind)
    never = () if kind == CAUSAL else (mask_id,)
    filling = Filling(
        reader,
        vocab,
        constraint,
        Draws(sampling),
        plan,
        steps,
        never=never,
        was_cached=was_cached,
        compile_seconds=seconds,
    )
    row = read_holes(holes, vocab)
    masked = int((row.row == MASKED).sum())
    if kind == CAUSAL and steps is not None and steps < masked:
        raise ValueError(
            f"steps={steps} for {masked} missing tokens: an autoregressive model fills in one at a step; give {masked} steps or "
            "more, or leave steps= out"
        )
    return filling.result(form, filling.run(row))


def checked_kind(model: Any) -> str:
    check_no_tokenizer("model", model, "the model comes first, then the row; its tokenizer is tokenizer=")
    if not callable(model):
        raise TypeError(f"model is {type(model).__name__}; pass a callable from ids [B, L] to logits [B, L, V]")
    return kind_of(model)


def one_by_one(sampler: str | None, block: int | None, options: Mapping[str, Any]) -> Plan:
    """The plan of a causal model, for which what stands to the left of a position must be known."""
    if sampler not in (None, "blocks", "stream") or block not in (None, 1) or options:
        given = [f"sampler={sampler!r}"] if sampler else []
        given += [f"{name}={value!r:.40}" for name, value in {"block": block, **options}.items() if value is not None]
        raise ValueError(
            f"{', '.join(given)}: an autoregressive model fills in one id after another from left to right; leave that out"
        )
    return Plan.of("blocks", 1, {})


def first_ids(kind: str, tokenizer: Any) -> Sequence[int]:
    """What a causal model needs before its first prediction, where the tokenizer has it."""
    begin = getattr(tokenizer, "bos_token_id", None)
    return [begin] if kind == CAUSAL and isinstance(begin, int) else []
