"""The arguments of generate(), checked: what is wrong is said before anything is computed."""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..grammars.choices import Choices
from ..grammars.compose import Grammar
from ..grammars.regex import Regex
from ..vocab.vocabulary import Vocabulary


def check_number(
    name: str, value: Any, is_fine: Callable[[float], bool], accepted: str, *, optional: bool = False
) -> None:
    """A number that is fine; None too where the argument is optional."""
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


def check_integer(name: str, value: Any, low: int, high: int | None = None, *, optional: bool = False) -> None:
    """An integer from `low` to `high`; None too where the argument is optional."""
    accepted = f"an integer of {low} or more" if high is None else f"an integer from {low} to {high}"
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r:.60}; it takes {accepted}")
    if int(value) < low or (high is not None and int(value) > high):
        raise ValueError(f"{name}={value!r:.60}; it takes {accepted}")


def one_grammar(regex: str | bytes | None, grammar: Grammar | None, choices: Iterable[str] | None) -> Grammar | None:
    """The one constraint that was given; None where there is none."""
    given = [
        name for name, value in (("regex", regex), ("grammar", grammar), ("choices", choices)) if value is not None
    ]
    if len(given) > 1:
        raise ValueError(
            f"{' and '.join(f'{name}=' for name in given)} are given; generate() takes one. "
            "Texts that satisfy several: grammar=gl.Regex(...) & gl.Choices(...)"
        )
    if regex is not None:
        return Regex(regex)
    if choices is not None:
        return Choices(choices)
    if grammar is not None and not isinstance(grammar, Grammar):
        raise TypeError(
            f"grammar is {type(grammar).__name__}; pass a grammar such as gl.Regex(...) or gl.Choices([...])"
        )
    return grammar


def check_vocabulary(tokenizer: Any, vocab: Any) -> None:
    """One of the two must say what the model's ids mean."""
    if vocab is not None and not isinstance(vocab, Vocabulary):
        raise TypeError(f"vocab is {type(vocab).__name__}; pass a gl.Vocabulary, or the tokenizer as tokenizer=")
    if tokenizer is None and vocab is None:
        raise ValueError(
            "nothing says what the model's token ids mean; pass tokenizer=, or vocab=gl.Vocabulary(tokens, stop_ids)"
        )


def prompt_ids(prompt: Any, tokenizer: Any, vocab: Vocabulary | None, width: int | None) -> list[int]:
    """The ids of the prompt: those given, or the tokenizer's own with the special tokens that it usually adds."""
    if isinstance(prompt, str):
        check_text(prompt)
        ids = encode(prompt, tokenizer, vocab)
    else:
        ids = listed(prompt)
    if not ids:
        raise ValueError(
            "the prompt has no ids, and a model needs at least one; "
            "give some text, or the id that begins a text, for example [tokenizer.bos_token_id]"
        )
    outside = next((i for i in ids if i < 0 or (width is not None and i >= width)), None)
    if outside is not None:
        known = "ids are not negative" if width is None else f"the model knows ids from 0 to {width - 1}"
        raise ValueError(f"the prompt has the id {outside}; {known}. Was another model's tokenizer used?")
    return ids


def check_text(prompt: str) -> None:
    """Half of a surrogate pair, such as Python makes of arguments in another encoding, is no text for any tokenizer."""
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the prompt holds {prompt[error.start]!a} at position {error.start}, half of a surrogate pair, which no text "
            "contains; was it read in another encoding than UTF-8?"
        ) from None


def encode(prompt: str, tokenizer: Any, vocab: Vocabulary | None) -> list[int]:
    if isinstance(tokenizer, (str, os.PathLike)):
        return Vocabulary.from_tokenizer(tokenizer, stop_ids=[0]).encode(prompt)  # stop ids play no part in encoding
    if callable(tokenizer):
        return list(tokenizer(prompt)["input_ids"])
    if hasattr(tokenizer, "encode"):
        encoded = tokenizer.encode(prompt)
        return list(getattr(encoded, "ids", encoded))
    return (vocab or Vocabulary.from_tokenizer(tokenizer)).encode(prompt)


def listed(prompt: Any) -> list[int]:
    """A list, tuple, array or one-dimensional tensor of ids."""
    if not isinstance(prompt, (bytes, bytearray, Mapping)):
        try:
            ids = [operator.index(i) for i in prompt if not isinstance(i, (bool, bytes, str))]
            if len(ids) == len(prompt):
                return ids
        except TypeError:
            pass
    raise TypeError(
        f"prompt is {type(prompt).__name__}: {prompt!s:.60}; it takes one text (str) or one list of token ids"
    )
