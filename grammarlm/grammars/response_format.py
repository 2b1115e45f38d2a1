"""What a request to a server says about its answer's form, as a grammar.

    response_format({"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}, "strict": True}})     OpenAI's
    response_format({"type": "json_schema", "name": "answer", "schema": {...}})                 the same in the Responses API
    response_format({"type": "text"})  {"type": "json_object"}  {"type": "structural_tag", "format": {...}}
    response_format({"regex": "[a-z]+"})  {"json": {...}}  {"choice": ["a", "b"]}  {"grammar": "root ::= ..."}
                                                                                               vLLM's structured_outputs

A schema is always enforced, whatever "strict" says. What has another type or another key is refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, brief, placed_error

from .choices import Choices
from .compose import Grammar
from .ebnf.gbnf import Gbnf
from .json_schema.schema import JsonSchema, parsed
from .lark.grammar import Lark
from .regular.regex import Regex
from .structural_tag.grammar import StructuralTag
from .text import Text

TYPES = ("text", "json_object", "json_schema", "structural_tag")
ABOUT = ("name", "description", "strict")  # of a schema, without a meaning here
FORMS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
OPTIONS = ("disable_any_whitespace", "disable_additional_properties")  # of vLLM's JSON


def response_format(json: Mapping[str, Any] | str) -> Grammar:
    """The grammar of an answer's form, given as a dict or as JSON text; GrammarError where it is none, UnsupportedFeature where it
    asks for what is not known."""
    given = parsed(json, "response format") if isinstance(json, str) else json
    if not isinstance(given, Mapping):
        if not isinstance(json, str):
            instead = "; a Python type is schema=" if isinstance(json, type) else ""
            raise TypeError(f"response_format() takes a dict or JSON text, not {type(json).__name__}{instead}")
        raise GrammarError(f"the response format is {brief(given)}; it is an object with a type")
    if "type" not in given and "structures" not in given:
        return _structured_outputs(
            {name: value for name, value in given.items() if value is not None and value is not False}
        )
    kind = given.get("type", "structural_tag")
    if kind == "structural_tag":
        return StructuralTag(json if isinstance(json, str) else dict(given))
    if kind not in TYPES:
        raise _unknown("/type", kind, TYPES)
    found = {name: value for name, value in given.items() if name != "type"}
    if kind != "json_schema":
        _check_names(found, (), "")
        return Text() if kind == "text" else JsonSchema({"type": "object"})
    at = ""
    if "json_schema" in found:
        _check_names(found, ("json_schema",), at)
        found, at = found["json_schema"], "/json_schema"
        if not isinstance(found, Mapping):
            raise placed_error(GrammarError(f"{brief(found)} is no object"), at)
    _check_names(found, ("schema", *ABOUT), at)
    if found.get("schema") is None:
        whole = '{"type": "json_schema", "json_schema": {"name": ..., "schema": {...}}}'
        raise placed_error(GrammarError(f"it is missing; write {whole}"), f"{at}/schema" if at else "/json_schema")
    return JsonSchema(_value(found, "schema", (dict, bool), at))


def _structured_outputs(given: dict[str, Any]) -> Grammar:
    _check_names(given, (*FORMS, *OPTIONS), "")
    forms = [name for name in FORMS if name in given]
    if len(forms) != 1:
        raise GrammarError(f"there is {' and '.join(forms) or 'no form'}; an answer has one of {', '.join(FORMS)}")
    form = forms[0]
    _check_names(given, (form, *(OPTIONS if form.startswith("json") else ())), "")
    if form == "json_object" or form == "json":
        schema = {"type": "object"} if form == "json_object" else _value(given, "json", (dict, bool, str), "")
        whitespace = "compact" if given.get("disable_any_whitespace") else None
        return JsonSchema(
            schema, whitespace=whitespace, extra="forbid" if given.get("disable_additional_properties") else None
        )
    if form == "choice":
        texts = _value(given, form, (list, tuple), "")
        if not texts or not all(isinstance(text, str) for text in texts):
            raise placed_error(GrammarError(f"{brief(texts)}; it takes a list of at least one string"), "/choice")
        return Choices(texts)
    text = _value(given, form, (str, dict) if form == "structural_tag" else (str,), "")
    if form == "structural_tag":
        return StructuralTag(text)
    if form == "regex":
        return Regex(text)
    return Gbnf(text) if "::=" in text else Lark(text)


def _value(given: Mapping[str, Any], name: str, kinds: tuple[type, ...], at: str) -> Any:
    value = given.get(name)
    if not isinstance(value, kinds):
        takes = " or ".join(kind.__name__ for kind in kinds)
        raise placed_error(GrammarError(f"{brief(value)}; it takes a value of type {takes}"), f"{at}/{name}")
    return value


def _check_names(given: Mapping[str, Any], known: tuple[str, ...], at: str) -> None:
    for name in given:
        if name not in known:
            raise _unknown(f"{at}/{name}", name, known)


def _unknown(at: str, name: object, known: tuple[str, ...]) -> GrammarError:
    beside = f"; there are {', '.join(known)}" if known else ""
    return placed_error(UnsupportedFeature(f"{brief(name)} is not supported{beside}"), at)
