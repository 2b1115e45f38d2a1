"""The grammars and vocabularies of tests/corpus/canvases.toml and canvas_rows.toml, with the oracles of their texts."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import grammarlm as gl
from tests import cases
from tests.corpus_files import raw, tables
from tests.masks.canvas.canvas_law import Case
from tests.oracles.any_grammar import accepts_of, begins_of

BYTES = [bytes([byte]) for byte in range(256)]
TABLES = tables("canvases")
Schema = functools.partial(gl.JsonSchema, whitespace="compact", spelling="plain")


@cache
def names() -> dict[str, Any]:
    """What the expressions of grammars may name, beside what grammarlm has."""
    return {
        "Schema": Schema,
        **{name: gl.Lark(text) for name, text in TABLES["lark"].items()},
        **{name: gl.Gbnf(text) for name, text in TABLES["gbnf"].items()},
        **{name: Schema(text) for name, text in TABLES["schemas"].items()},
    }


def grammar_of(expression: str) -> Any:
    return cases.grammar_of(expression, **names())


def case_of(entry: Mapping[str, Any]) -> Case:
    """A case of the files."""
    tokens = [raw(token) for token in entry["tokens"]]
    stops = entry.get("stops", 1)
    tokens = [
        raw(entry.get("special", "?")),
        *(BYTES if entry.get("bytes") else []),
        *tokens,
        *(b"." * count for count in range(1, stops + 1)),
    ]
    if items := entry.get("items"):
        kept = {tuple(item) for item in items}
        special = tuple(entry.get("special_ids", [0]))
        return Case(gl.Tokens(items), tokens, kept.__contains__, stops=stops, special=special, by_ids=True)
    grammar = grammar_of(entry["grammar"])
    alphabet = raw(entry["alphabet"]) if "alphabet" in entry else bytes(range(256))
    begins = begins_by(entry) or begins_of(grammar)
    return Case(
        grammar,
        tokens,
        accepts_of(grammar),
        lambda data: not data.strip(alphabet) and begins(data),
        stops=stops,
        size=entry.get("size"),
        alphabet=alphabet,
    )


@cache
def canvas_case(name: str) -> Case:
    """One of canvases.toml, by its family and its name."""
    family, _, one = name.partition(": ")
    return case_of(next(each for each in TABLES["case"] if (each["family"], each["name"]) == (family, one)))


def begins_by(entry: Mapping[str, Any]) -> Callable[[bytes], bool] | None:
    """Which beginnings are tried, where the case says."""
    if "begin_texts" in entry:
        return beginning_of([raw(text) for text in entry["begin_texts"]])
    pattern = entry.get("begins")
    if "follows" in entry:
        follows = dict(entry["follows"])
        first = follows.pop("")
        steps = (f"[{re.escape(each)}](?=[{re.escape(nexts)}]|$)" for each, nexts in follows.items())
        pattern = f"(?=[{re.escape(first)}]|$)({'|'.join(steps)})*"
    if pattern is None:
        return None
    compiled = re.compile(raw(pattern), re.S)
    return lambda data: compiled.fullmatch(data) is not None


def beginning_of(texts: list[bytes]) -> Callable[[bytes], bool]:
    """Of one of these texts, with any letter as an escape, and any number where a 1 stands."""

    def begins(data: bytes) -> bool:
        data = re.sub(rb"\\u00([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), data)
        data = re.sub(rb"[0-9][-+0-9.eE]*", b"1", re.sub(rb"\\(u(0(0[0-9a-fA-F]?)?)?)?$", b"", data))
        return any(text.startswith(data) for text in texts)

    return begins


def json_case(
    schema: Any,
    extra: Sequence[bytes],
    alphabet: bytes = bytes(range(256)),
    is_part: bool = False,
    judges_order: bool = True,
    **options: Any,
) -> Case:
    """All bytes and a few tokens more. The oracle knows one order of keys for all objects: where two differ it cannot judge."""
    grammar = Schema(schema, **options)
    tokens = [b"?", *BYTES, *extra, b"."]
    begins = lambda data: not data.strip(alphabet)  # noqa: E731
    accepts = accepts_of(grammar if judges_order else Schema(schema, **(options | {"property_order": "any"})))
    return Case(grammar, tokens, accepts, begins, alphabet=alphabet, is_part=is_part)
