"""A schema as a prompt, with examples: schemas and their instances from the same data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from grammarlm.bench.cases import BrokenCase, Case

ORDER = "Write a JSON value that is valid under the schema, and nothing else."
LONGEST_EXAMPLE = 1_500  # characters of schema and instance together
Example = tuple[str, str]  # schema, instance


def examples_of(cases: Sequence[Case], count: int) -> dict[str, list[Example]]:
    """For each data set the first valid instances of short schemas; one more than asked for, as none is its own example."""
    found: dict[str, list[Example]] = {}
    for case in cases:
        known = found.setdefault(case.data_set, [])
        if len(known) > count:
            continue
        try:
            content = case.load()
        except BrokenCase:
            continue
        valid = [test["data"] for test in content.get("tests", []) if test["valid"]]
        example = (json.dumps(content["schema"]), json.dumps(valid[0], ensure_ascii=False)) if valid else ("", "")
        if 0 < sum(map(len, example)) <= LONGEST_EXAMPLE:
            known.append(example)
    return found


def examples(options: dict[str, Any], case: Case, schema: Any) -> list[tuple[str, str]]:
    """Those of the case's data set, without the case's own schema."""
    own = json.dumps(schema)
    known = options["examples"].get(case.data_set, ())
    return [(given, instance) for given, instance in known if given != own][: options["shots"]]


def prompt_of(schema: Any, examples: Sequence[Example]) -> str:
    """As plain text."""
    shown = [f"Schema: {given}\nJSON: {instance}\n\n" for given, instance in examples]
    return f"{ORDER}\n\n{''.join(shown)}Schema: {json.dumps(schema)}\nJSON: "


def messages_of(schema: Any, examples: Sequence[Example]) -> list[dict[str, str]]:
    """As a chat."""
    turns = [{"role": "system", "content": ORDER}]
    for given, instance in examples:
        turns += [{"role": "user", "content": given}, {"role": "assistant", "content": instance}]
    return [*turns, {"role": "user", "content": json.dumps(schema)}]


def encoded(tokenizer: Any, schema: Any, examples: Sequence[Example]) -> list[int]:
    """The prompt's tokens: a chat where the tokenizer has a template for it."""
    if getattr(tokenizer, "chat_template", None):
        found = tokenizer.apply_chat_template(messages_of(schema, examples), add_generation_prompt=True)
        return list(found["input_ids"] if hasattr(found, "keys") else found)
    return list(tokenizer.encode(prompt_of(schema, examples)))
