"""Checks of generate()'s arguments, before anything is computed."""

from __future__ import annotations

import inspect
import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from grammarlm.errors import brief
from grammarlm.vocab.vocabulary import Vocabulary

from .argument_types import Prompt, Prompts, Tokenizer

MOST_ANSWERS = 1 << 16  # to one prompt, what they are chosen from, and what is looked ahead for one
MOST_IDS = (1 << 31) - 1  # of a bare callable nothing says how many it knows


def check_number(
    name: str, value: object, is_fine: Callable[[float], bool], accepted: str, *, optional: bool = False
) -> None:
    """A valid number; None too where the argument is optional."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r:.60}; it takes a number, {accepted}")
    try:
        fine = is_fine(float(value))
    except OverflowError:  # 10**400 is an integer without a float
        fine = False
    if not fine:
        raise ValueError(f"{name}={value!r:.60}; it takes a number, {accepted}")


def check_integer(name: str, value: object, low: int, high: int | None = None, *, optional: bool = False) -> None:
    """An integer from `low` to `high`; None too where the argument is optional."""
    accepted = f"an integer of {low} or more" if high is None else f"an integer from {low} to {high}"
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r:.60}; it takes {accepted}")
    if int(value) < low or (high is not None and int(value) > high):
        raise ValueError(f"{name}={value!r:.60}; it takes {accepted}")


def check_function(name: str, value: object, *, optional: bool = True) -> None:
    """A function; None too where the argument is optional."""
    if not callable(value) and not (value is None and optional):
        raise TypeError(f"{name} is {value!r:.60}; it takes a function")
    check_synchronous(name, value)


def check_synchronous(name: str, value: object) -> None:
    """No coroutine function: what its calls return is awaited by nobody, and counts as true."""
    if inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(getattr(value, "__call__", None)):  # noqa: B004
        raise TypeError(
            f"{name} is {value!r:.60}, a coroutine function; it takes one that is called, not awaited (def)"
        )


def check_choice(name: str, value: object, accepted: Iterable[object]) -> None:
    """One of a few values."""
    *most, last = map(repr, accepted)
    if repr(value) not in (*most, last):
        listed_names = f"{', '.join(most)} or {last}" if most else last
        raise ValueError(f"{name}={value!r:.60}; it takes {listed_names}")


# How an answer is held to any of several descriptions.
EITHER = {
    "schema": "; one answer under either of two: grammar=gl.JsonSchema(a) | gl.JsonSchema(b), or of two types schema=A | B",
    "regex": "; one answer that matches either of two: regex='(a)|(b)'",
    "grammar": "; one answer under either of two: grammar=a | b",
    "choices": "; one answer of all of them: one list",
}


def is_batch(prompt: Prompts) -> TypeGuard[Sequence[Prompt]]:
    """Several prompts: a list of texts, or of lists of ids; an empty list, too. One list of ids is one prompt."""
    return (
        isinstance(prompt, (list, tuple))
        and all(
            isinstance(one, str) or (not isinstance(one, (bytes, Mapping)) and hasattr(one, "__len__"))
            for one in prompt
        )
        and all(not hasattr(one, "shape") or len(one.shape) == 1 for one in prompt)
    )


def per_prompt(name: str, value: object, count: int | None) -> list[Any]:
    """An argument for each prompt: a list has one each, anything else is for all. `count` None: there is one prompt."""
    each = value if isinstance(value, (list, tuple)) else ()
    if count == 0 and isinstance(value, (list, tuple)) and not value:  # one for each of no prompts
        return [None]
    if name in ("choices", "items") and not all(  # for one prompt these are a list themselves
        one is None or (name == "choices" and is_collection(one)) for one in each
    ):
        each = ()
    if not each:
        return [value] * (count or 1)
    if count is None:
        raise TypeError(
            f"{name} is a list of {len(each)}, but there is one prompt; a list goes with a list of prompts{EITHER.get(name, '')}"
        )
    if len(each) != count:
        raise ValueError(
            f"{name} is a list of {len(each)}, but there are {count} prompts; give one for each (None: without)"
        )
    return list(each)


def is_collection(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def check_vocabulary(tokenizer: Tokenizer, vocab: object) -> None:
    """One of the two must define what the model's ids mean."""
    if vocab is not None and not isinstance(vocab, Vocabulary):
        raise TypeError(f"vocab is {type(vocab).__name__}; pass a gl.Vocabulary, or the tokenizer as tokenizer=")
    if isinstance(tokenizer, Vocabulary):
        raise TypeError("tokenizer is a gl.Vocabulary; pass it as vocab=")
    if hasattr(tokenizer, "forward"):
        raise TypeError(f"tokenizer is {type(tokenizer).__name__}, a model; pass the tokenizer that belongs to it")
    if tokenizer is None and vocab is None:
        raise ValueError(
            "nothing says what the model's token ids mean, and no tokenizer lies where the model was loaded from; "
            "pass tokenizer=, or vocab=gl.Vocabulary(tokens, stop_ids)"
        )


def prompt_ids(
    prompt: Prompt, tokenizer: Tokenizer, vocab: Vocabulary | None, width: int | None, name: str = "the prompt"
) -> list[int]:
    """The ids of the prompt: those given, or the tokenizer's own with the special tokens that it usually adds."""
    if isinstance(prompt, str):
        check_text(prompt, name)
        ids = encode(prompt, tokenizer, vocab)
    else:
        ids = listed(prompt, name)
    if not ids:
        raise ValueError(
            f"{name} has no ids, and a model needs at least one; "
            "give some text, or the id that begins a text, for example [tokenizer.bos_token_id]"
        )
    outside = next((i for i in ids if not 0 <= i < (MOST_IDS + 1 if width is None else width)), None)
    if outside is not None:
        known = f"ids are from 0 to {MOST_IDS:,}" if width is None else f"the model knows ids from 0 to {width - 1}"
        raise ValueError(f"{name} has the id {outside!r:.30}; {known}. Was another model's tokenizer used?")
    return ids


def check_text(text: str, name: str) -> None:
    """A lone surrogate, such as Python makes of arguments in another encoding, cannot be tokenized."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} holds {text[error.start]!a} at position {error.start}, half of a surrogate pair, which no text "
            "contains; was it read in another encoding than UTF-8?"
        ) from None


def encode(prompt: str, tokenizer: Any, vocab: Vocabulary | None) -> list[int]:
    if isinstance(tokenizer, (str, os.PathLike)):
        return Vocabulary.from_tokenizer(tokenizer, stop_ids=[0]).encode(prompt)  # stop ids do not matter for encoding
    if callable(tokenizer):
        return list(tokenizer(prompt)["input_ids"])
    if hasattr(tokenizer, "encode"):
        encoded = tokenizer.encode(prompt)
        return list(getattr(encoded, "ids", encoded))
    return (vocab or Vocabulary.from_tokenizer(tokenizer)).encode(prompt)


def listed(prompt: Any, name: str = "the prompt") -> list[int]:
    """A list, tuple, array or one-dimensional tensor of ids."""
    ids = None if isinstance(prompt, (bytes, bytearray, Mapping)) else integers(prompt)
    if ids is not None:
        return ids
    raise TypeError(f"{name} is {type(prompt).__name__}: {brief(prompt, 60)}; {instead_of(prompt)}")


def integers(given: Any) -> list[int] | None:
    """What it lists; None where that is anything but integers."""
    try:
        found = [operator.index(one) for one in given if not isinstance(one, (bool, bytes, str))]
        return found if len(found) == len(given) else None
    except TypeError:
        return None


def instead_of(prompt: Any) -> str:
    """What to pass in place of something that is no prompt."""
    of_list = prompt[0] if isinstance(prompt, (list, tuple)) and prompt else None
    of_list = of_list[0] if isinstance(of_list, (list, tuple)) and of_list else of_list
    if isinstance(prompt, Mapping) and "input_ids" in prompt:
        return "pass the text itself, or its ids: prompt['input_ids'], of a tensor the row prompt['input_ids'][0], without padding"
    if isinstance(prompt, Mapping) and "content" in prompt:
        return "it is one message; a conversation is a list of them: [message]"
    if isinstance(of_list, Mapping) and "content" in of_list:
        return "a conversation is a list of messages; here its text or its ids are taken"
    if len(getattr(prompt, "shape", ())) > 1:
        return (
            f"its shape is {list(prompt.shape)}: one prompt is one row of ids (ids[0]), several are a list of rows without their "
            "padding"
        )
    if isinstance(prompt, (list, tuple)) and any(isinstance(one, str) for one in prompt):
        at = next((at for at, one in enumerate(prompt) if not isinstance(one, str)), None)
        if at is None:
            return "it takes one prompt here, a text (str) or a list of token ids"
        return f"number {at} is {type(prompt[at]).__name__}; a list of prompts has a text (str) or a list of token ids for each"
    if hasattr(prompt, "ids"):
        return "pass its ids: prompt.ids"
    return "it takes one text (str) or one list of token ids, or a list of such prompts"
