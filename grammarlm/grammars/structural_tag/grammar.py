"""Structural tags: JSON that says where a text is free, and where it is held.

    StructuralTag({"type": "structural_tag", "format": {
        "type": "triggered_tags", "triggers": ["<call "],
        "tags": [{"type": "tag", "begin": "<call f>", "content": {"type": "json_schema", "json_schema": {...}}, "end": "</call>"}],
    }})

The format is xgrammar's, which vLLM and SGLang send; its older form, {"structures": [...], "triggers": [...]}, too. What each
format means is in formats.py. Names of special tokens in its strings mean the tokens, where the vocabulary has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, brief, suggesting
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.derived import Derived, Specials
from grammarlm.grammars.ebnf.ebnf import Ebnf
from grammarlm.grammars.json_schema.schema import JsonSchema, parsed
from grammarlm.grammars.lark.grammar import Lark

from .fields import read, wrong
from .formats import Formats


@dataclass(frozen=True, init=False, repr=False)
class StructuralTag(Derived):
    """All texts of a structural tag, given as a dict or as JSON text."""

    text: str
    whitespace: str | None

    @suggesting("StructuralTag")
    def __init__(self, text: dict[str, Any] | str, whitespace: str | None = None):
        if not isinstance(text, (dict, str)):
            raise TypeError(f"StructuralTag() takes a dict or JSON text, not {type(text).__name__}")
        object.__setattr__(self, "text", text if isinstance(text, str) else _written(text))
        object.__setattr__(self, "whitespace", whitespace)

    def __repr__(self) -> str:
        return f"StructuralTag({brief(self.text, 120)})"

    def grammar(self, specials: Specials) -> Grammar:
        whole, formats = parsed(self.text, "structural tag"), Formats(specials)
        if isinstance(whole, dict) and "structures" in whole:
            return formats.older(read(whole, "", "type structures triggers at_least_one"))
        given = read(whole, "", "type format")
        if given.type != "structural_tag":
            raise wrong(f'{brief(given.type)}; a structural tag has "structural_tag" here', "/type")
        return formats.of(given.format, "/format")

    def held(self) -> Iterator[tuple[str, Grammar]]:
        """The schemas and grammars in it, with their places: for messages about them."""
        waiting: list[tuple[str, Any]] = [("", parsed(self.text, "structural tag"))]
        for at, here in waiting:  # it grows
            if isinstance(here, dict):
                for name, kind in (("json_schema", JsonSchema), ("schema", JsonSchema), ("grammar", Ebnf)):
                    if isinstance(here.get(name), (dict, str)):
                        is_lark = here.get("syntax") == "lark"
                        yield f"{at}/{name}", Lark(here[name]) if is_lark else kind(here[name])
            inner = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
            waiting += [(f"{at}/{name}", value) for name, value in inner if name not in ("json_schema", "schema")]


def _written(data: dict[str, Any]) -> str:
    try:
        return json.dumps(data, allow_nan=False)
    except RecursionError:
        raise LimitExceeded("the structural tag is nested too deeply; flatten it") from None
    except (TypeError, ValueError) as error:
        raise GrammarError(f"the structural tag is no JSON: {error}") from None
