"""Arguments of `check` and `inspect`: a grammar and a text, from files, stdin, or the command line."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from grammarlm.files import LARGEST, read_file
from grammarlm.grammars.registry import KINDS, class_of, notation_of, suffixes

if TYPE_CHECKING:
    from grammarlm.grammars.compose import Grammar


def add_grammar(parser: argparse.ArgumentParser, text: str, text_help: str) -> None:
    """Adds the arguments of the grammar and of the text to match; `read_arguments` resolves the positional ones."""
    parser.add_argument(
        "given", nargs="*", metavar="SCHEMA", help="a file with a JSON schema, - for stdin, or the schema itself: {...}"
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--regex", metavar="R", help="instead of a schema: a regular expression, in Python's syntax")
    other.add_argument("--lark", metavar="FILE", help="instead of a schema: a Lark grammar")
    other.add_argument(
        "--grammar",
        metavar="FILE",
        help=f"instead of a schema: a grammar in a file, by its suffix: {', '.join(suffixes())}",
    )
    other.add_argument(
        "--response-format",
        metavar="FILE",
        help="instead of a schema: a file with what a request to a server says about its answer, a structural tag for instance",
    )
    parser.add_argument("--text", metavar="TEXT", help=f"{text_help}, on the line instead of in a file")
    parser.add_argument(
        "--property-order", choices=("any", "schema"), default="any", help="of a schema's properties (any)"
    )
    parser.add_argument(
        "--formats",
        choices=("assert", "annotation"),
        default="assert",
        help="whether `format` of a schema counts (assert)",
    )
    add_unknown(parser)
    parser.set_defaults(usage_error=parser.error)
    grammar = "SCHEMA | --regex R | --lark FILE | --grammar FILE | --response-format FILE"
    parser.usage = f"%(prog)s [options] ({grammar}) [{text} | --text TEXT]"


def add_unknown(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unknown",
        choices=("warn", "refuse"),
        default="warn",
        help="keywords and formats of a schema that nobody has defined, misspelt ones for instance (warn)",
    )


def read_arguments(options: argparse.Namespace) -> tuple[Grammar, bytes | None, str]:
    """The grammar, the text or None, and the text's name."""
    given = list(options.given)
    needs_schema = (options.regex, options.lark, options.grammar, options.response_format) == (None,) * 4
    if needs_schema and not given:
        options.usage_error("give a SCHEMA, --regex, --lark, --grammar or --response-format")
    schema = given.pop(0) if needs_schema else None
    if len(given) > 1 or (given and options.text is not None):
        options.usage_error(f"one text at a time: {' '.join(given)}")
    if schema == "-" and given == ["-"]:
        options.usage_error("the schema and the text cannot both come from stdin")
    grammar = _grammar(options, schema)
    if options.text is not None:
        return grammar, options.text.encode("utf-8", "surrogateescape"), "--text"
    return (grammar, read_bytes(given[0]), given[0]) if given else (grammar, None, "")


def _grammar(options: argparse.Namespace, schema: str | None) -> Grammar:
    if options.regex is not None:
        from grammarlm.grammars.regular.regex import Regex

        return Regex(options.regex)
    if options.lark is not None:
        from grammarlm.grammars.lark.grammar import Lark

        text = read_text(options.lark)
        if options.lark != "-" and not options.lark.lower().endswith(".lark"):  # an error would show a line of any file
            raise ValueError(f"--lark {options.lark}: the file's name ends in .lark; rename it if it is a grammar")
        return Lark(text)
    if options.grammar is not None:
        return grammar_in(options.grammar)
    if options.response_format is not None:
        from grammarlm.grammars.response_format import response_format

        return response_format(text_of_schema(options.response_format))
    from grammarlm.grammars.json_schema.schema import JsonSchema  # type: ignore[attr-defined]

    return JsonSchema(text_of_schema(schema or "-"), property_order=options.property_order, formats=options.formats)


def grammar_in(path: str) -> Grammar:
    """The grammar in a file, by its suffix."""
    name = notation_of(path)  # before the file is read: an error would show a line of any file
    if name is None:
        raise ValueError(f"--grammar {path}: the file's name ends in none of {', '.join(suffixes())}; rename it")
    grammar: Grammar = class_of(name)(read_text(path).rstrip("\n") if KINDS[name].is_one_line else read_text(path))
    return grammar


def text_of_schema(given: str) -> str:
    """The schema itself, a file's content, or stdin's."""
    from grammarlm.grammars.json_schema.read.schema_file import read_schema

    if given.lstrip().startswith("{"):
        return given
    return read_text(given) if given == "-" else read_schema(given)


def read_bytes(name: str, largest: int = LARGEST) -> bytes:
    """The bytes of a regular file, or of stdin for -."""
    if name != "-":
        return read_file(name, largest)
    if sys.stdin is None:
        raise ValueError("-: stdin is closed; send the text there, or name a file")
    data = sys.stdin.buffer.read(largest + 1) if hasattr(sys.stdin, "buffer") else sys.stdin.read(largest + 1).encode()
    if len(data) > largest:
        raise ValueError(f"-: stdin has more than {largest:,} bytes, the most that is read")
    return data


def read_text(name: str, largest: int = LARGEST) -> str:
    try:
        return read_bytes(name, largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: the file is no UTF-8 ({error.reason} at byte {error.start})") from None
