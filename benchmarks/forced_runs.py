"""How much of an answer is forced: tokens of closed records that need no choice, beside llguidance's fast-forward tokens.

usage: GRAMMARLM_DATA=... python -m benchmarks.forced_runs [--tokenizers qwen3 llama3_1]

Each record is written as json.dumps writes it, with blanks and compact, and cut as the tokenizer cuts it. Counted along that text:

    forced       tokens that are the only one that their mask allows
    skeleton     tokens whose bytes, white space aside, must come (machines/json/skeleton.py); those that are forced among them
    llguidance   tokens that compute_ff_tokens() gives, where they are the text's own; the others are the text's tokens one by one.
                 Its white space is its default, flexible, which reads both texts

The white space is the model's choice in both; llguidance counts none of the quotes, colons and brackets that stand beside it.
"""

import argparse
import functools
import json
from dataclasses import dataclass
from typing import Any

import grammarlm as gl
from benchmarks.report import table
from benchmarks.tokenizers import load
from grammarlm.masks.machines.json.skeleton import skeleton

RECORDS: dict[str, dict[str, Any]] = {
    "person": {"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "city": "London", "active": True},
    "order": {"order_id": 1042, "customer": "Tom Hill", "total": 18.5, "currency": "EUR", "paid": False},
    "event": {"title": "Reading circle", "day": "Friday", "hour": 19, "place": "Room 4", "guests": 12},
}
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
STYLES: dict[str, dict[str, Any]] = {"blanks": {}, "compact": {"separators": (",", ":")}}


@dataclass
class Count:
    """Of the tokens of one text."""

    tokens: int
    forced: int
    skeleton: int
    peers: int


def schema_of(record: dict[str, Any]) -> dict[str, Any]:
    properties = {name: {"type": TYPES[type(value)]} for name, value in record.items()}
    return {"type": "object", "properties": properties, "required": [*record], "additionalProperties": False}


def counted(schema: dict[str, Any], tokens: list[int], vocab: gl.Vocabulary) -> tuple[int, int]:
    """Tokens of the text that are forced, and those that its skeleton has."""
    matcher = gl.compile(gl.JsonSchema(schema, whitespace="natural", spelling="plain"), vocab).matcher()
    forced = in_skeleton = 0
    for token in tokens:
        solid = bytes(byte for byte in vocab.token_bytes(token) if byte not in b" \t\n")
        forced += matcher.forced_tokens(1) == [token]
        in_skeleton += bool(solid) and skeleton(matcher).startswith(solid)
        if not matcher.advance(token):
            raise ValueError(f"the text is not one of the schema's: {vocab.token_bytes(token)!r} is refused")
    if not matcher.is_accepting:
        raise ValueError("the text is not finished")
    return forced, in_skeleton


def fast_forward(schema: dict[str, Any], tokens: list[int], tokenizer: Any) -> int:
    """llguidance's tokens of the text that it forces; a run of others than the text's is read as the text has it."""
    import llguidance

    matcher = llguidance.LLMatcher(
        _of_llguidance(tokenizer),
        llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema)),
        log_level=0,
    )
    place = forced = 0
    while place < len(tokens):
        run = matcher.compute_ff_tokens()
        if run and tokens[place : place + len(run)] == run:
            forced += len(run)
        else:
            run = [tokens[place]]
        if not matcher.consume_tokens(run):
            raise ValueError(f"llguidance refuses the text: {matcher.get_error()}")
        place += len(run)
    return forced


@functools.cache
def _of_llguidance(tokenizer: Any) -> Any:
    import llguidance.hf

    return llguidance.hf.from_tokenizer(tokenizer)


def count(name: str, style: str, tokenizer: Any, vocab: gl.Vocabulary) -> Count:
    record = RECORDS[name]
    schema, tokens = schema_of(record), vocab.encode(json.dumps(record, **STYLES[style]))
    return Count(len(tokens), *counted(schema, tokens, vocab), fast_forward(schema, tokens, tokenizer))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizers", nargs="+", default=["qwen3", "llama3_1"])
    rows = []
    for each in parser.parse_args().tokenizers:
        tokenizer, vocab, named = load(each)
        for name in RECORDS:
            for style in STYLES:
                found = count(name, style, tokenizer, vocab)
                rows.append([named, name, style, found.tokens, found.forced, found.skeleton, found.peers])
    print(table(["tokenizer", "record", "style", "tokens", "forced", "skeleton", "llguidance"], rows))


if __name__ == "__main__":
    main()
