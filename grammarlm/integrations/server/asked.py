"""What the body of a request asks for: prompts and generate()'s settings. What is not known is refused by its name.

    {"messages": [...]} or {"prompt": ...}                   OpenAI's, with what stands in TAKEN and READ
    {..., "grammarlm": {"regex": "[a-z]+", "close": false}}  what vLLM's plug-in takes (integrations/serving/options.py)

A name whose value is null is absent.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grammarlm.decoding.arguments import check_choice, check_integer
from grammarlm.errors import brief, shorten
from grammarlm.grammars.text import Text
from grammarlm.grammars.tools.tool_format import ToolFormat
from grammarlm.integrations.serving.options import KEY, read_options
from grammarlm.integrations.serving.options import KNOWN as OF_FORMS

# Names that are generate()'s own, which checks their values.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty", "seed")
TAKEN = (*SAMPLING, "n", "stop", "chat_template_kwargs")
OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
LENGTHS = ("max_tokens", "max_completion_tokens")
READ = ("model", *LENGTHS, "stream", "stream_options", "logprobs", "top_logprobs", KEY, "response_format", *OF_TOOLS)
LABELS = ("user", "metadata", "safety_identifier", "prompt_cache_key")  # of a request, without a meaning for its answer
# Names of what is not done, with the values that ask for nothing.
NOTHING: dict[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,), "presence_penalty": (0,), "logit_bias": ({},), "store": (False,), "best_of": (1,),
    "service_tier": ("auto", "default"), "modalities": (["text"],), "echo": (False,), "suffix": ("",),
}  # fmt: skip
TURN = (*OF_TOOLS, "tool_format", "reasoning")  # of a conversation
OF_CHAT = ("messages", "top_logprobs", *OF_TOOLS, "chat_template_kwargs")
KNOWN = ("messages", "prompt", *TAKEN, *READ, *LABELS, *NOTHING)
MOST_SHOWN = 20  # alternatives to a token
LONGEST = 200  # characters of a text of which is asked why it may not come


@dataclass(frozen=True)
class Bounds:
    """What one server does for its clients."""

    max_body: int = 4 << 20  # bytes
    max_tokens: int = 4096  # of an answer, and where a request names no number
    max_answers: int = 64  # to one request
    max_waiting: int = 256  # requests whose answer has not begun
    max_ms: float = 5_000.0  # of compiling one grammar
    batch_size: int = 32  # texts that share a forward


@dataclass(frozen=True)
class Asked:
    """One request."""

    prompt: Any
    settings: dict[str, Any]  # generate()'s
    is_chat: bool
    is_streamed: bool = False
    has_usage: bool = False  # does the stream end with its usage?
    shown: int | None = None  # alternatives to each token; None: no log-probabilities
    is_bounded: bool = False  # does it say how many tokens an answer may have?


def read_json(body: bytes) -> dict[str, Any]:
    """ValueError where it is no JSON object."""
    try:
        found = json.loads(body, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(shorten(f"the body is no JSON: {error}")) from None
    if not isinstance(found, dict):
        raise ValueError(f"the body is {brief(found)}; it takes an object")
    return {name: value for name, value in found.items() if value is not None}


def no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def read_request(given: Mapping[str, Any], is_chat: bool, tokenizer: Any, bounds: Bounds) -> Asked:
    """ValueError or TypeError, with one sentence, for what is wrong or unknown."""
    for name in given:
        check_name(name, given[name], is_chat)
    prompt = prompt_of(given, is_chat)
    options = given.get("stream_options", {})
    if not isinstance(options, dict) or not set(options) <= {"include_usage"}:
        raise ValueError(f"stream_options is {brief(options, 80)}; it takes {{'include_usage': true}}")
    is_streamed, has_usage = given.get("stream", False), options.get("include_usage", False)
    for name, value in (("stream", is_streamed), ("include_usage", has_usage)):
        check_choice(name, value, (True, False))
    if options and not is_streamed:
        raise ValueError("stream_options is an option of stream, which is not asked for")
    settings = {name: given[name] for name in TAKEN if name in given}
    settings |= {"max_tokens": most_tokens(given, bounds), "batch_size": bounds.batch_size}
    settings |= form_of(given, is_chat, tokenizer)
    check_integer("n", given.get("n", 1), 1)
    count = given.get("n", 1) * (len(prompt) if not is_chat and is_list_of(prompt, (str, list)) else 1)
    check_integer("the number of answers to a request", count, 1, bounds.max_answers)
    is_bounded = any(name in given for name in LENGTHS)
    return Asked(prompt, settings, is_chat, is_streamed, has_usage, shown_of(given, is_chat), is_bounded)


def read_why(given: dict[str, Any]) -> tuple[list[int], str]:
    """What stands beside a request where it is asked why its answer does not go on so; ValueError where it is wrong."""
    tokens, text = given.pop("tokens", None), given.pop("text", None)
    if not (tokens == [] or is_ids(tokens)) or not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError(f"it takes a request, 'tokens' (ids of its answer) and 'text' (up to {LONGEST} characters)")
    return tokens, text


def check_name(name: str, value: Any, is_chat: bool) -> None:
    """ValueError for what this server does not do."""
    there = sorted(set(KNOWN).difference(("prompt", "echo", "suffix") if is_chat else OF_CHAT))
    if name not in there:
        raise ValueError(shorten(f"{name[:60]!r} is not supported here; {instead_of(name, there, is_chat)}"))
    if name in NOTHING and not any(value == each and type(value) in (type(each), float) for each in NOTHING[name]):
        raise ValueError(f"{name} is {brief(value)}, which is not supported; leave it out")


def instead_of(name: str, there: list[str], is_chat: bool) -> str:
    """What to write in place of a name that is not among those there are."""
    if name in KNOWN:
        return f"it is of {'/v1/completions' if is_chat else '/v1/chat/completions'}"
    if name in OF_FORMS:
        return f"write it as {{{KEY!r}: {{{name!r}: ...}}}}"
    near = difflib.get_close_matches(name, there, n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(there)}; forms of answers are in {KEY!r}"


def is_list_of(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kinds) for one in value)


def is_ids(value: Any) -> bool:
    return is_list_of(value, int) and not any(isinstance(one, bool) for one in value)


def prompt_of(given: Mapping[str, Any], is_chat: bool) -> Any:
    """Messages; or a text, ids, or a list of these."""
    prompt: Any = given.get("messages" if is_chat else "prompt")
    if is_chat and not is_list_of(prompt, dict):
        accepted = 'a list of messages, [{"role": "user", "content": "..."}]'
        raise ValueError(f"messages is {brief(prompt)}; it takes {accepted}")
    is_text = isinstance(prompt, str) or is_list_of(prompt, str) or is_ids(prompt)
    if not (is_chat or is_text or (is_list_of(prompt, list) and all(map(is_ids, prompt)))):
        raise ValueError(f"prompt is {brief(prompt)}; it takes a text, a list of ids, or a list of some of these")
    return prompt


def most_tokens(given: Mapping[str, Any], bounds: Bounds) -> int:
    names = [name for name in LENGTHS if name in given]
    if len(names) > 1:
        raise ValueError("max_tokens and max_completion_tokens mean the same; give one of them")
    asked: int = given[names[0]] if names else bounds.max_tokens
    check_integer("max_tokens", asked, 1, bounds.max_tokens)
    return asked


def shown_of(given: Mapping[str, Any], is_chat: bool) -> int | None:
    """How many alternatives to each token are asked for; None: no log-probabilities."""
    name, shown = "logprobs", given.get("logprobs")
    if is_chat:
        check_choice("logprobs", shown or False, (True, False))
        name, shown = "top_logprobs", given.get("top_logprobs", 0) if shown else None
        if "top_logprobs" in given and shown is None:
            raise ValueError("top_logprobs is an option of logprobs, which is not asked for")
    check_integer(name, shown, 0, MOST_SHOWN, optional=True)
    return shown


def form_of(given: Mapping[str, Any], is_chat: bool, tokenizer: Any) -> dict[str, Any]:
    """The settings that describe the answer: its grammar, and what makes it a turn with tools and reasoning."""
    extra = given.get(KEY, {})
    if isinstance(extra, str):
        extra = read_json(extra.encode("utf-8", "surrogatepass"))
    if not isinstance(extra, Mapping):
        raise ValueError(f'{KEY} is {brief(extra)}; it takes an object such as {{"schema": {{...}}}}')
    options = {name: value for name, value in extra.items() if value is not None}
    for name in ("response_format", *OF_TOOLS):
        if name in given:
            if name in options:
                raise ValueError(f"{name} is given twice, once in {KEY!r}")
            options[name] = given[name]
    turn = {name: options.pop(name) for name in TURN if is_chat and name in options}
    try:
        read = read_options(options, lambda: ToolFormat.of(tokenizer))
    except ValueError as error:
        if KEY in given:
            raise
        raise ValueError(str(error).removeprefix(f"{KEY}: ")) from None
    if read.min_tokens:
        raise ValueError(f"{KEY}: min_tokens is not supported here; a grammar can ask for a length")
    if turn.get("tools") == []:
        raise ValueError("tools is an empty list; leave it out")
    if turn.get("tool_format") is not None and not isinstance(turn["tool_format"], str):
        raise ValueError(f"{KEY}: tool_format is {brief(turn['tool_format'])}; it takes the name of one")
    found = {"grammar": None if read.grammar == Text() else read.grammar, "close": read.close is not False}
    if "parallel_tool_calls" in turn:
        check_choice("parallel_tool_calls", turn["parallel_tool_calls"], (True, False))
        turn["parallel"] = turn.pop("parallel_tool_calls")
    return found | turn
