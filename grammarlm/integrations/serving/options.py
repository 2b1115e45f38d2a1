"""What a request asks for, in generate()'s keys, as a server gets it: a dict, or JSON text of one.

    {"schema": {...}}                      with JsonSchema's options beside it: "whitespace", "extra", "property_order", ...
    {"regex": "..."} {"choices": [...]}
    {"grammar": "root ::= ..."}            GBNF where it has ::=, else Lark; "notation": "gbnf", "ebnf" or "lark" says which
    {"response_format": {...}} {"structural_tag": {...}}                       what gl.response_format and gl.StructuralTag take
    {"tools": [...], "tool_format": "hermes"}          OpenAI's tools, called as that family of models does; one of the above beside
                                           it may come instead of calls. "tool_choice" and "parallel_tool_calls" are OpenAI's, too
    "reasoning": true | 500                a thought comes first, of at most so many tokens; it needs the "tool_format", too
    "min_tokens": 5                        no end before, as far as the grammar has other tokens
    "close": true | false                  must the answer be complete within max_tokens? Absent: where so many are enough

In one process the values may be Python's: a grammar object, a pydantic model as a schema, functions as tools. `on_the_wire` writes
these as text.
"""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import GrammarError, brief, shorten
from grammarlm.grammars import registry
from grammarlm.grammars.choices import Choices
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.generated import as_generated
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.response_format import response_format
from grammarlm.grammars.structural_tag.grammar import StructuralTag
from grammarlm.grammars.text import Text
from grammarlm.grammars.tools.formats import names
from grammarlm.grammars.tools.tool_format import ToolFormat
from grammarlm.grammars.tools.tools import Tools
from grammarlm.masks.saved import codec
from grammarlm.masks.saved.sealed import bytes_as_text, seal, text_as_bytes, unseal

KEY = "grammarlm"  # of a request's extra arguments
FORMS = ("schema", "regex", "choices", "grammar", "response_format", "structural_tag")
TURN = ("tools", "reasoning")  # what makes it a turn of an assistant
NOTATIONS = ("gbnf", "ebnf", "lark")
SCHEMA_OPTIONS = tuple(
    name for name in inspect.signature(JsonSchema.__init__).parameters if name not in ("self", "schema")
)
OWNERS = {  # what each option is an option of
    **dict.fromkeys(SCHEMA_OPTIONS, ("schema",)),
    **dict.fromkeys(("notation", "start"), ("grammar",)),
    **dict.fromkeys(("tool_choice", "parallel_tool_calls"), ("tools",)),
    "tool_format": TURN,
}
KNOWN = (*FORMS, *TURN, "close", "min_tokens", *OWNERS)
LARGEST = 64 << 20  # characters of a request's options
_SEALED, _MAGIC, _VERSION = "grammarlm:", b"grammarlm grammar\n", 2


@dataclass(frozen=True)
class Options:
    """A grammar, None where the request names none; and whether the answer has to be complete within its tokens."""

    grammar: Grammar | None
    close: bool | None = None  # None: where its tokens are enough
    min_tokens: int = 0  # no end before, as far as the grammar has other tokens


def read_options(given: object, known_format: Callable[[], ToolFormat] | None = None) -> Options:
    """The options of a request; ValueError with one sentence where they are wrong. Broken grammars are found by compile.

    `known_format`: how the model writes calls, where a request does not say.
    """
    options = _as_dict(given)
    for name in options:
        if name not in KNOWN:
            near = difflib.get_close_matches(str(name), KNOWN, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KNOWN)}"
            raise ValueError(f"{KEY} has no option {brief(name)}; {hint}")
    close = options.get("close")
    if close is not None and not isinstance(close, bool):
        raise ValueError(f"{KEY}: close is {brief(close)}; it takes true or false")
    least = options.get("min_tokens", 0)
    if isinstance(least, bool) or not isinstance(least, int) or least < 0:
        raise ValueError(f"{KEY}: min_tokens is {brief(least)}; it takes a number of tokens")
    options = {name: value for name, value in options.items() if value is not None}
    forms = [name for name in FORMS if name in options]
    if len(forms) > 1:
        raise ValueError(f"{KEY} has {' and '.join(forms)}; an answer has one form: combine them in one grammar")
    is_turn = any(options.get(name, False) is not False for name in TURN)
    for name, owners in OWNERS.items():
        # those of a form, alone, go along with a grammar that the request names elsewhere
        is_bound = forms or is_turn or "tools" in owners
        if name in options and is_bound and not any(owner in options for owner in owners):
            raise ValueError(f"{KEY}: {name} is an option of {' or '.join(map(repr, owners))}, which is not given")
    grammar = _grammar(forms[0], options) if forms else None
    if is_turn:
        grammar = _turn(options, grammar, known_format)
    return Options(grammar, close, least)


def on_the_wire(given: object) -> object:
    """The same options without Python's objects, for another process."""
    if not isinstance(given, Mapping):
        return given
    try:
        json.dumps(given)
        return given
    except (TypeError, ValueError, RecursionError):
        grammar = read_options(given).grammar
    kept = {name: given[name] for name in ("close", "min_tokens") if name in given}
    return kept if grammar is None else {**kept, "grammar": sealed(grammar)}


def sealed(grammar: Grammar) -> str:
    """Any grammar as text."""
    return _SEALED + bytes_as_text(seal(_MAGIC, _VERSION, codec.encode(grammar)))


def _unsealed(text: str) -> Grammar:
    try:
        content = unseal(_MAGIC, _VERSION, text_as_bytes(text[len(_SEALED) :]), "grammar")
        found = codec.decode(content, "grammar")
    except (ValueError, GrammarError) as error:
        raise ValueError(f"{KEY}: grammar is no grammar that was written as text: {error}") from None
    if not isinstance(found, Grammar):
        raise ValueError(f"{KEY}: grammar is no grammar that was written as text")
    return found


def _as_dict(given: object) -> Mapping[str, Any]:
    if isinstance(given, str):
        if len(given) > LARGEST:
            raise ValueError(f"{KEY} has {len(given):,} characters; at most {LARGEST:,} are read")
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{KEY} is no JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise ValueError(
            f'{KEY} is {brief(given)}; it takes an object such as {{"schema": {{...}}}}, or JSON text of one'
        )
    return given


def _grammar(form: str, options: Mapping[str, Any]) -> Grammar:
    value = options[form]
    named = {name: options[name] for name in SCHEMA_OPTIONS if options.get(name) is not None}
    try:
        if form == "schema":
            return JsonSchema(value, **named).as_generated()
        if form == "regex":
            return Regex(value)
        if form == "choices":
            if isinstance(value, Mapping):
                raise TypeError("it takes a list of strings, not an object")
            return Choices(value)
        if form == "response_format":
            return as_generated(response_format(value))
        if form == "structural_tag":
            return as_generated(StructuralTag(value))
        if isinstance(value, Grammar):
            return as_generated(value)
        if not isinstance(value, str):
            raise TypeError(f"it takes text, not {type(value).__name__}")
        return _noted(value, options.get("notation"), options.get("start"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(shorten(f"{KEY}: {form}: {error}")) from None


def _turn(options: Mapping[str, Any], answer: Grammar | None, known_format: Callable[[], ToolFormat] | None) -> Grammar:
    """A turn of an assistant, in which the answer may come instead of calls."""
    form: Any = options.get("tool_format")
    try:
        if isinstance(answer, StructuralTag):
            raise TypeError("a structural tag says itself how calls are written; leave one of them out")
        if form is None and known_format is None:
            raise TypeError(f"tool_format is needed, which says how the model writes calls: {', '.join(names())}")
        if form is not None and not isinstance(form, (str, ToolFormat)):
            raise TypeError(f"tool_format is {brief(form)}; it takes {', '.join(names())}")
        parallel = options.get("parallel_tool_calls", True)
        if not isinstance(parallel, bool):
            raise TypeError(f"parallel_tool_calls is {brief(parallel)}; it takes true or false")
        return as_generated(
            Tools(
                options.get("tools", ()),
                format=known_format() if form is None else form,  # type: ignore[misc]
                calls=options.get("tool_choice", "any"),
                parallel=parallel,
                reasoning=options.get("reasoning"),
                answer=None if answer == Text() else answer,
            )
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(shorten(f"{KEY}: {'tools' if 'tools' in options else 'reasoning'}: {error}")) from None


def _noted(text: str, notation: object, start: object) -> Grammar:
    """A grammar written as text."""
    if text.startswith(_SEALED):
        return as_generated(_unsealed(text))
    if notation is None:
        notation = "gbnf" if "::=" in text else "lark"
    if notation not in NOTATIONS:
        raise ValueError(f"notation is {brief(notation)}; it takes {', '.join(NOTATIONS)}")
    kind: Any = registry.class_of(str(notation).capitalize())
    if start is None:
        made: Grammar = kind(text)
        return made
    if notation != "lark":
        raise ValueError("start is an option of Lark; the other notations begin with their first rule, or root")
    made = kind(text, start=start)
    return made
