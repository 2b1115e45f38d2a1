"""generate(): constrained texts from a model.

model, tokenizer = gl.load_tiny()
out = gl.generate(model, 'Wake me at 6.\n{"function":"', choices=["set_alarm", "set_timer"])
out.text, out.value, out.finish_reason

gl.generate(model, ["Ada, 36.\n", "Tom, 41."], schema=Person)         # a list of prompts gives a list of results
gl.generate(model, prompts, schema=[Person, None])                    # each with its own constraint, or none
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.methods.blends.blend import Blended
from grammarlm.decoding.methods.masked import masked
from grammarlm.decoding.methods.masked import start as start_masked
from grammarlm.decoding.methods.pools.pool import Pooled
from grammarlm.decoding.methods.searches.search import Searched
from grammarlm.decoding.readers.mask_facts import fills_masks
from grammarlm.decoding.systems import METHODS, system

from .argument_types import Model, Prompt, Prompts
from .arguments import check_choice
from .chat.messages import is_conversation
from .progress import bar_of
from .request import Request, prepare
from .result import Result
from .retries import Tries, settled
from .settings import AnswerSpec, Settings, settings_of, with_settings


@with_settings
def generate(model: Model, prompt: Prompts, **settings: Any) -> Any:
    """The answer to a prompt; a list of answers where there are several prompts, or n > 1.

    **The model**

    model        a transformers model that generates (causal or encoder-decoder), or any callable from ids [B, T] to logits [B, T,
                 V]; one call is one forward
    prompt       a text, encoded with the special tokens that the tokenizer usually adds; a list of ids, taken as they are; or a
                 conversation, a list of messages {"role": ..., "content": ...}, which the tokenizer's chat template writes.
                 Or a list of such prompts (of none: no answers), which share their forwards: at most `batch_size` texts at a
                 time; where answers end the next prompts take their places
    tokenizer    encodes the prompt and defines what the ids mean; default: the one stored where the model was loaded from
                 (nothing is downloaded). Its vocabulary becomes as wide as the model's logits, and a text ends at every
                 end-of-sequence id of the tokenizer or the model's configs
    vocab        a gl.Vocabulary, instead of the tokenizer's
    limits       a gl.Limits: bounds on the cost of compiling a grammar and of each step
    cache        "dynamic", "static" or "off"; None: what the model's generation config asks for. A model without a cache is slow,
                 which a warning says; "dynamic" and "static" are refused there

    **The constraint**, at most one of these. With a list of prompts it can be a list, one for each; None: free text

    schema       a JSON schema as a dict, as JSON text or as a path; or a Python type: a pydantic model, dataclass, TypedDict, Enum,
                 Literal, list[T], or a function, which stands for its arguments. Then `out.value` is an instance
    regex        Python's syntax; the whole answer matches
    grammar      any grammar object, or one compiled by gl.compile for the model's vocabulary
    choices      texts, of which the answer is one; or integers, which are then its value; or an Enum class
    items        sequences of token ids, of which the answer is one; or a gl.Tokens
    response_format      OpenAI's, or vLLM's structured outputs, or a structural tag: what gl.response_format takes
    unknown      keywords and formats of a schema that nobody has defined, misspelt ones for instance: "warn": a gl.SchemaWarning,
                 once a schema; "refuse": an error

    where        with any of them or alone: a predicate that gets the text so far and returns whether it may go on (of "", whether
                 that may be the whole answer). Where it refuses all that could come next, the answer has no value and finish_reason
                 "unsatisfied"; where it raises, or logits are NaN, that answer alone is "error". `out.error` says where and why

    **Conversations**: a last message of the assistant is gone on with; `out.message` is the next one of the conversation

    tools        functions, pydantic models, dataclasses or OpenAI's dictionaries. The template shows them to the model, and the
                 answer is a turn (gl.Tools): a text, calls, or both as far as the template writes both. What a description above
                 describes may come instead of calls. `out.calls` has the calls; `call()` runs a function
    tool_choice  "auto", "required", "none", the name of the one tool to call, or OpenAI's dictionary
    parallel     False: at most one call
    reasoning    True: a thought before the answer; a number: of at most so many tokens; False: none; the template is told. None:
                 only where the prompt has begun one. `out.reasoning` has it
    tool_format  how the model writes calls and thoughts: a gl.ToolFormat or its name. None: learned from the chat template
    chat_template, chat_template_kwargs    another template; further values for it

    **Sampling**: the constraint first, then in this order

    repetition_penalty   divides the logits of tokens that occurred before (multiplies where they are negative)
    temperature          0: the most probable token; else a draw from softmax(masked logits / temperature)
    top_k, top_p, min_p, typical_p    filter the tokens that can be drawn
    seed                 equal seeds give equal answers; the number drawn for None is in out.stats.seed. Random numbers depend on
                         the seed, on which of the n answers it is, and on the position in the answer; on nothing else
    n                    independent answers to each prompt, which share its forward

    **Length**

    max_tokens   of the answer, its stop id not counted
    stop         a text, or several: the answer ends before the first of them that is complete, where its grammar may end there. It
                 is no part of the answer; `out.stopped_by` says which it was
    close        True: an answer with a grammar is always finished within max_tokens (finish_reason "closed" where that changed it);
                 ValueError where the grammar may need more
    heal         True: token healing: tokens at the end of the prompt are removed and generated again, so that a word may go on
                 over its end
    forced       "score": tokens that are the only allowed ones share a forward; so do bytes that a schema forces, as draft tokens
                 that the model's own draws verify; "off": each token has its own forward. The answers are equal. "write": text
                 that must come is not drawn, but written in the tokenizer's own tokens, without forwards of its own: a law of its
                 own (loop/written.py). None: "write" where the grammar has a gl.Template, else "score"

    draft        tokens that something cheaper proposes and the model verifies, several a forward: "auto", a drafter's name ("copy",
                 "suffix", ...), a smaller model of the same vocabulary, or a gl.Draft, which remembers from call to call. The
                 answers are those without a draft, at every temperature

    method       how texts are found; each has options of its own, given as further arguments
                 "masked": each step masked and renormalised. "awrs": draws with weights, under where= by rejection (rejection.py);
                 remember=True: they share what is refuted.
                 "smc": particles that follow the model's law given the constraint (particles=, threshold=, critic=). "best_of"
                 (candidates=, score=), "vote" (candidates=, key=, weight=), "first_finish" (candidates=), "pool"
                 (candidates=, budget=, controller=, predictor=, reserved=, alpha=, beta=), "beam" (beams=, groups=,
                 diversity=), "best_first" (expansions=, width=, at_once=, memory=, value=), "lookahead" (entropy=, width=,
                 depth=), "trials" (most=, depth=, until=), "superposed" (drafts=, alpha=, ngrams=): several answers for the
                 forwards of one. "planned" (draft=, join=): a free answer first, then the held one with it in the prompt.
                 "diffusion": masks filled in any order (sampler=, steps=, block=, mask_id=, and gl.infill's other options), the
                 default of models that are known to fill in masks
                 "contrast" (against=, alpha=, cut=): away from another prompt or model. "grounded" (description=, weight=, cut=):
                 towards a description's words. "anchored" (safe=, budget=, debt=): within a budget of divergence from a safe model.
                 "switch" (large=, above=, window=): a large model where the text is uncertain. "adapted" (step=, most=): a function
                 may change the model between forwards. gl.methods says what each is for
                 Or one of your own: a blend of the logits of several models (blends/blend.py), a search over texts
                 (searches/search.py), or a pool of answers that are written at once (pools/pool.py)
    progress     True or False; None: True for several batches on a terminal

    **What a schema cannot say**

    check        a function of the value; where it raises, or returns anything but True or None, the answer fails, as it does where
                 a validator of its type refuses. A turn of calls has no value: the validators of its tools alone are asked. After
                 the last try an answer that fails has no value: finish_reason "unsatisfied", `out.error`
    retries      how often an answer that fails is asked for again, by itself, with another seed (and temperature 1 where it would
                 be the same answer otherwise); `out.tries`
    feedback     True: in a conversation the next try gets the failed answer and the reason as messages

    probabilities    True: `out.probabilities` has how probable the model finds each of the choices, or of the texts of a schema
                 that has few (as gl.decide, which writes no answer)

    The vocabulary and the constraints are cached: another call with the same grammar compiles nothing.
    """
    method = method_for(model, settings.get("method", "masked"))
    find = method_of(method)
    asked, options = settings_of("generate", {**settings, "method": method}, find)
    request = prepare(model, prompt, asked)
    if not request.prompts:
        return []
    probabilities = probabilities_of(request) if asked.probabilities else None
    results = answers(request, asked, find, options)
    if asked.checked.is_asked:

        def again(*numbers_prompts_seeds: Any) -> list[Result]:
            following, tries = next_try(request, asked, *numbers_prompts_seeds)
            return answers(tries, following, find, options)

        results = settled(tries_of(results, prompt, request, asked), again)
    if probabilities is not None:
        results = [replace(result, probabilities=probabilities[at // request.n]) for at, result in enumerate(results)]
    return results if request.is_list or request.n > 1 else results[0]


def probabilities_of(request: Request) -> list[list[tuple[Any, float]]]:
    """Of the choices of each prompt."""
    from .decisions.decide import decisions

    return [decision.probabilities for decision in decisions(request)]


def answers(
    request: Request, asked: Settings, find: Callable[..., list[Result]], options: dict[str, Any]
) -> list[Result]:
    """n to each prompt."""
    if asked.method != "diffusion":  # its canvas knows exactly whether max_tokens are enough
        request.check_budgets()
    with bar_of(len(request.prompts), asked.at_once, asked.progress) as show:
        if find is masked:
            return masked(replace(request, at_once=asked.at_once), show)
        results: list[Result] = []
        for batch in request.batches(asked.at_once):
            results += find(batch, **options)
            show(len(results) // request.n)
        return results


def tries_of(results: list[Result], prompt: Prompts, request: Request, asked: Settings) -> Tries:
    """What is to be asked for again, where answers fail."""
    prompts = cast(list[Prompt], list(prompt) if request.is_list else [prompt])
    return asked.checked.tries(results, prompts, asked.sampling.seed or 0)


def next_try(
    request: Request, asked: Settings, numbers: list[int], prompts: list[Prompt], seeds: list[int]
) -> tuple[Settings, Request]:
    """An answer each to these prompts, which come from those of the call with these numbers."""
    following = asked.of_prompts(numbers, len(request.prompts) if request.is_list else None)
    tries = prepare(request.model, prompts, following)
    specs = [with_seed(*each) for each in zip(tries.specs, prompts, seeds, strict=True)]
    return following, replace(tries, specs=specs)


def with_seed(spec: AnswerSpec, prompt: Prompt, seed: int) -> AnswerSpec:
    """Of another try. Without temperature, and without feedback in the prompt, it would be the same answer again: then at 1."""
    settings = spec.settings
    is_told = settings.feedback and is_conversation(prompt)
    warmth = settings.temperature if settings.temperature or is_told else 1.0
    return replace(spec, settings=replace(settings, seed=seed, temperature=warmth))


def start(model: Model, prompt: Prompts, **settings: Any) -> Decoding:
    """All that comes before the first token, as one batch; iterating over the returned Decoding generates."""
    return start_masked(prepare(model, prompt, settings_of("start", settings)[0]))


def method_for(model: Any, method: Any) -> Any:
    """The method for a model: "masked", the default, means "diffusion" where the model is known to fill in masks."""
    return "diffusion" if method == "masked" and fills_masks(model) else method


def method_of(method: Any) -> Callable[..., list[Result]]:
    """The function of a method; its options are its keyword-only arguments.

        "masked", "beam", ...        a name of systems.py, which is imported on first use
        @blend(...)  def f(...)      a function of rows of logits, inside the loop of "masked" (blends/blend.py)
        @search  def f(tree, n)      a function of the tree of texts (searches/search.py)
        @pool  def f(paths)          a function of the answers that are being written (pools/pool.py)

    It is called with a Request (request.py), which has everything checked and prepared, and its options; it returns the answers,
    n of the first prompt, n of the second, ...
    """
    if isinstance(method, (Blended, Pooled, Searched)):
        return method
    if callable(method):
        raise TypeError(
            f"method is {method!r:.100}, and nothing says what it is a function of: put @blend(...) before a function of logits, "
            "@search before one of a tree of texts, or @pool before one of paths, all of grammarlm.decoding"
        )
    check_choice("method", method, METHODS)
    found: Callable[..., list[Result]] = system(METHODS[method])
    return found
