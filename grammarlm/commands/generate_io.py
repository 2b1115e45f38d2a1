"""Input and output of `grammarlm generate`: grammars, prompts and models from its arguments, answers as text or JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammarlm.errors import shorten

from .grammar_arguments import grammar_in, read_text, text_of_schema

if TYPE_CHECKING:
    from grammarlm.grammars.compose import Grammar


# ------------------------------------------------------------------ grammars


def read_grammar(options: argparse.Namespace) -> Grammar | None:
    """The grammar that the options describe; None where there is none."""
    if options.schema is not None:
        return schema_of(options.schema)
    if options.regex is not None:
        from grammarlm.grammars.regular.regex import Regex

        return Regex(options.regex)
    if options.choices is not None:
        from grammarlm.grammars.choices import Choices

        return Choices(read_choices(options.choices))
    return None if options.grammar is None else grammar_in(options.grammar)


def files_read(options: argparse.Namespace) -> list[str | None]:
    """The names of input files in the options; some may not be files."""
    choices = options.choices or ""
    names = ("jsonl", "messages", "tools", "schema", "grammar")  # not every command has all
    return [*(getattr(options, name, None) for name in names), choices[1:] if choices.startswith("@") else None]


def schema_of(given: str) -> Grammar:
    """From the schema itself, or a file."""
    from grammarlm.grammars.json_schema.schema import JsonSchema  # type: ignore[attr-defined]

    return JsonSchema(text_of_schema(given))


def read_choices(given: str) -> list[str]:
    """A,B,C or @FILE with one choice a line; empty ones are left out."""
    if not given.startswith("@"):
        return [choice for choice in given.split(",") if choice]
    try:
        text = read_text(given[1:])
    except ValueError as error:
        raise ValueError(f"--choices @{error}; save one choice a line, as UTF-8, in a regular file") from None
    return [choice for choice in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if choice]


# ------------------------------------------------------------------ in and out


def read_prompt(given: str) -> str:
    """The prompt itself, or stdin's content for -."""
    if given != "-":
        return given
    if sys.stdin is None:
        raise ValueError("--prompt -: stdin is closed; send the prompt there, or give it as --prompt TEXT")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"--prompt -: stdin is no {error.encoding}: {error.reason} at byte {error.start}") from None


def read_json(option: str, given: str) -> list[Any]:
    """A list in JSON: itself, a file's, or stdin's for -."""
    text = given
    if not given.lstrip().startswith("["):
        try:
            text = read_prompt(given) if given == "-" else read_text(given)
        except ValueError as error:
            raise ValueError(f"{option}: {error}; give a file, or the list itself") from None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option} {given:.60} is no JSON: {error}") from None
    if not isinstance(found, list):
        raise ValueError(f"{option} {given:.60} is {type(found).__name__} in JSON; it takes a list")
    return found


def show(result: Any, as_json: bool) -> None:
    """Prints the answer, exactly or not at all: JSON escapes what stdout cannot encode, plain text has no escapes."""
    try:
        print(as_line(described(result)) if as_json else result.text)
    except UnicodeEncodeError as error:
        if not as_json:
            raise ValueError(
                f"the answer {result.text[:100]!a} cannot be written in stdout's encoding, {error.encoding}; "
                "set PYTHONIOENCODING=utf-8, or use --json"
            ) from None
        print(as_line(described(result), ensure_ascii=True))


def described(result: Any) -> dict[str, Any]:
    """All that is known of an answer; of a turn of an assistant its message."""
    turn = None if result.turn is None else result.turn.message
    return asdict(replace(result, turn=None)) | {"turn": turn}


def as_line(value: Any, ensure_ascii: bool = False) -> str:
    try:
        return json.dumps(value, ensure_ascii=ensure_ascii, default=spelled, allow_nan=False)
    except ValueError:  # NaN or an infinity, which JSON does not have
        return json.dumps(finite(value), ensure_ascii=ensure_ascii, default=spelled, allow_nan=False)


def finite(value: Any) -> Any:
    """The same with null in place of NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def spelled(value: Any) -> Any:
    """JSON forms of other types: bytes that are not UTF-8, an integer too long for Python's int, the range of a part's tokens."""
    if isinstance(value, range):
        return [value.start, value.stop]
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def load_model(name: str, infills: bool = False) -> tuple[Any, Any]:
    """The embedded model, or the model and tokenizer in a folder; nothing is downloaded.

    infills   one that fills in masks, where there is one
    """
    if name == "tiny":
        from grammarlm.models.tiny import load_tiny

        return load_tiny(diffusion=True) if infills else load_tiny()
    if not Path(name).is_dir():
        raise FileNotFoundError(f"--model {name}: there is no such folder; give tiny, or the folder of a model")
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoModelForSeq2SeqLM,
        AutoTokenizer,
    )
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(name, local_files_only=True)
        written_for = getattr(config, "architectures", None) or [""]
        kind: Any = AutoModelForSeq2SeqLM if getattr(config, "is_encoder_decoder", False) else AutoModelForCausalLM
        if infills and written_for[0].endswith("ForMaskedLM"):
            kind = AutoModelForMaskedLM
        model = kind.from_pretrained(name, local_files_only=True)
        return model.eval(), AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception as error:  # a damaged file of weights raises its library's own exception
        raise ValueError(shorten(f"--model {name} cannot be loaded: {error}")) from error


def set_options(options: argparse.Namespace, takes: Callable[[str], bool], accepted: str) -> dict[str, Any]:
    """The options of all --set NAME=VALUE whose names it `takes`, parsed as JSON where possible, else text."""
    found: dict[str, Any] = {}
    for given in options.set:
        name, equals, value = given.partition("=")
        if not equals or not takes(name):
            options.usage_error(f"--set {given}: {accepted}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
