"""Disk cache of Lark grammars: what reading one yields, so that the next process need not.

Loading a large grammar and making its tables takes tens of milliseconds, where lark has to load it a few hundred; reading and
checking an entry takes 1-2 ms. An entry holds what reading a grammar yields and nothing that depends on a vocabulary: the tables,
the terminals (their patterns are parsed when the lexer first needs them), which terminals each LR state accepts, the byte sets that
they distinguish.

    name     sha256 of the text, the start rule, the indentation, `max_depth`, the sources of this package, and the versions of
             lark, Python (its `re` parses the patterns) and Unicode: if any differs, so does the entry
    content  arrays (array_files.py); kernels check no bounds, so everything that they index with is checked here
    written  after compile has succeeded: a refused grammar is never stored, and a stored one need not be checked for refusal again
    size     20-400 KB a grammar, none over 16 MB; the newest 200 and at most 256 MB of them are kept

A missing, damaged or invalid file is recomputed; without a writable folder nothing is cached.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import sys
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from grammarlm.array_files import demand, load_arrays, remove_oldest, save_arrays, touch
from grammarlm.cache import cache_folder, log_read, sources_digest
from grammarlm.grammars.cfg.indent import Indent
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BRACKET, STATES

from .lexer import Lexer, LexerStart, Terminal
from .lr_items import FlatItems
from .parser import LarkParser, Productions
from .tables import LrTables

MOST_FILES, MOST_BYTES, LARGEST = 200, 256 << 20, 16 << 20
WHOLE_TABLES = {"action": np.int32, "goto": np.int32, "rule": np.int32, "ignored": np.uint8, "access": np.uint8}


def entry_path(text: str, start: str, indent: Indent | None, max_depth: int) -> Path:
    what = [text, start, None if indent is None else astuple(indent), max_depth]
    digest = hashlib.sha256(_versions())
    digest.update(json.dumps(what).encode())
    return cache_folder("lark") / f"{digest.hexdigest()[:40]}.bin"


@cache
def _versions() -> bytes:
    """Digest of all that an entry depends on besides the grammar. lark's version is in its __init__ file: hashed, as importing lark
    costs 0.1 s."""
    python = f"{sys.implementation.name} {sys.version} {unicodedata.unidata_version}"
    digest = hashlib.sha256(f"{python} {sources_digest('grammars', 'layout', 'array_files.py')}".encode())
    spec = importlib.util.find_spec("lark")
    assert spec is not None  # lark is a dependency
    assert spec.origin is not None
    with contextlib.suppress(OSError):  # it may lie in a zip file
        digest.update(Path(spec.origin).read_bytes())
    return digest.digest()


def load_entry(path: Path, algebra: Algebra, tick: Callable[[], None]) -> LarkParser | None:
    """The parser of this entry; None where there is none, or none that is valid."""
    try:
        parser = _decode(load_arrays(path, LARGEST, _checksum), path, algebra, tick)
    except Exception as error:  # a damaged file can raise almost anything
        log_read(path, error)
        return None
    log_read(path)
    touch(path)
    return parser


def save_entry(parser: LarkParser) -> None:
    """Stores the parser for later processes; called after compile has found nothing to refuse."""
    if parser.is_known:
        return
    if save_arrays(parser.path, _encode(parser), LARGEST, _checksum):
        remove_oldest(parser.path.parent, MOST_FILES, MOST_BYTES)


def _checksum(data: np.ndarray) -> int:
    return zlib.crc32(data.data)


# An entry's plain values are one JSON text among the arrays.


def _encode(parser: LarkParser) -> dict[str, np.ndarray]:
    lexer, tables, productions = parser.lexer, parser.tables, parser.productions
    plain: dict[str, Any] = {
        "terminals": [[t.name, t.regex, t.ignored, t.is_first] for t in lexer.terminals],
        "newline": lexer.newline,
        "tab": lexer.tab,
        "verdicts": parser.verdicts,
    }
    arrays = {"byte_sets": np.frombuffer(b"".join(bits.to_bytes(32, "little") for bits in parser.byte_sets), np.uint8)}
    if productions is not None:
        plain["productions"] = [productions.start, productions.ignored, productions.rules]
    if tables is not None:
        contexts = {start: i for i, start in enumerate(dict.fromkeys(tables.lexers))}
        plain["contexts"] = [[start.ordered, start.keywords, start.before] for start in contexts]
        plain["tables"] = [tables.start, tables.shift_won, tables.blocks, tables.expansions, tables.names]
        plain["lost"] = [[state, rule, hex(bits)] for (state, rule), bits in tables.lost.items()]
        plain["productive"] = tables.productive
        items = tables.items
        assert isinstance(items, FlatItems)  # those of a single parser
        arrays |= {"items_begin": items.begins, "items": items.items, "item_symbols": items.symbols}
        arrays["context_of"] = np.array([contexts[start] for start in tables.lexers], np.int32)
        arrays |= {name: _narrow(getattr(tables, name)) for name in WHOLE_TABLES}
    return arrays | {"plain": np.frombuffer(json.dumps(plain).encode(), np.uint8)}


def _narrow(table: np.ndarray) -> np.ndarray:
    """int16 where all values fit, which halves the size."""
    small = table.dtype == np.int32 and table.min(initial=0) >= -(1 << 15) and table.max(initial=0) < 1 << 15
    return table.astype(np.int16) if small else table


def _decode(arrays: dict[str, np.ndarray], path: Path, algebra: Algebra, tick: Callable[[], None]) -> LarkParser:
    plain = json.loads(arrays["plain"].tobytes())
    terminals = [
        Terminal(_is(str, n), _is(str, r), _is(bool, i), _is(bool, f), algebra, tick)
        for n, r, i, f in plain["terminals"]
    ]
    lexer = Lexer(terminals, algebra, tick, shifts="tables" in plain)
    if plain["newline"] is not None:
        lexer.newline, lexer.tab = _below(len(terminals), plain["newline"]), _is(int, plain["tab"])
    sets = _of_kind(arrays["byte_sets"], np.uint8).tobytes()
    byte_sets = [int.from_bytes(sets[i : i + 32], "little") for i in range(0, len(sets), 32)]
    verdicts = _is(dict, plain["verdicts"])
    if "tables" in plain:
        tables = _decode_tables(arrays, plain, lexer)
        return LarkParser(lexer, tables, None, byte_sets, path, True, verdicts)
    start, ignored, rules = plain["productions"]
    names = {_is(str, name) for name, _ in rules}
    demand(start in names)
    for _, expansion in rules:
        for symbol in expansion:
            demand(symbol in names or _below(len(terminals), symbol) >= 0)
    productions = Productions(
        start, [_below(len(terminals), t) for t in ignored], [(name, body) for name, body in rules]
    )
    return LarkParser(lexer, None, productions, byte_sets, path, True, verdicts)


def _decode_tables(arrays: dict[str, np.ndarray], plain: dict[str, Any], lexer: Lexer) -> LrTables:
    whole = {name: _widened(arrays[name], kind) for name, kind in WHOLE_TABLES.items()}
    start, shift_won, blocks, expansions, names = plain["tables"]
    if blocks is not None:
        blocks = tuple(_below(len(whole["ignored"]), terminal) for terminal in blocks)
        demand(len(blocks) == 3)
    demand(len(whole["ignored"]) >= len(lexer.terminals))
    contexts = [_context(lexer, *context) for context in plain["contexts"]]
    context_of = _of_kind(arrays["context_of"], np.int32)
    demand(len(context_of) == len(whole["action"]))
    demand(((context_of >= 0) & (context_of < len(contexts))).all())
    items = FlatItems(*(arrays[name] for name in ("items_begin", "items", "item_symbols")))
    terminals, nonterminals = len(whole["ignored"]), len(names)
    demand(items.is_sound(len(whole["action"]), terminals, nonterminals) and whole["goto"].shape[1] >= nonterminals)
    for origin, symbols in expansions:
        _below(nonterminals, origin)
        demand(-nonterminals <= min(symbols, default=0) and max(symbols, default=0) < max(1, terminals))
    tables = LrTables(
        **whole,
        lexers=[contexts[i] for i in context_of.tolist()],
        start=_below(len(whole["action"]), start),
        shift_won=_is(bool, shift_won),
        lost={
            (_below(len(whole["action"]), s), _below(len(whole["rule"]), r)): int(b, 16) for s, r, b in plain["lost"]
        },
        productive=_is(bool, plain["productive"]),
        blocks=blocks,
        items=items,
        expansions=[(origin, tuple(symbols)) for origin, symbols in expansions],
        names=[_is(str, name) for name in names],
    )
    check_tables(tables)
    return tables


def _context(lexer: Lexer, ordered: Sequence[int], keywords: Sequence[Sequence[int]], before: int | None) -> LexerStart:
    count = len(lexer.terminals)
    demand(before in (UNKNOWN, SOMETHING, TEXT_START))
    pairs = [(_below(count, of), _below(count, word)) for of, word in keywords]
    return lexer.start([_below(count, t) for t in ordered], pairs, before)


def check_tables(tables: LrTables) -> None:
    """Raises where a kernel could read out of bounds, or pop a symbol off an empty stack."""
    action, goto, rule = tables.action, tables.goto, tables.rule
    demand(action.ndim == goto.ndim == rule.ndim == 2 and rule.shape[1] == 2)
    states, nonterminals = goto.shape
    demand(0 < states < STATES and len(action) == states and nonterminals > 0 and len(rule) > 0)
    demand(tables.ignored.shape == (action.shape[1] - 1,) and tables.access.shape == (states,))
    demand(action.min() >= -len(rule) and action.max() <= states)
    demand(goto.min() >= -1 and goto.max() < states)
    demand(rule.min() >= 0 and rule[:, 1].max() < nonterminals and tables.access.max() <= CLOSES_BRACKET)
    # A stack with a state on top holds at least as many symbols as the shortest path (BFS) from the start to that state has steps.
    depth = np.full(states, STATES, np.int32)
    depth[tables.start] = steps = 0
    border = np.array([tables.start])
    while len(border):
        steps += 1
        reached = np.zeros(states + 1, bool)
        reached[action[border, :-1].clip(0)] = True
        reached[goto[border] + 1] = True
        border = np.flatnonzero(reached[1:] & (depth == STATES))
        depth[border] = steps
    at, column = np.nonzero(action < 0)
    demand((rule[-action[at, column] - 1, 0] <= depth[at]).all())


def _widened(array: np.ndarray, kind: Any) -> np.ndarray:
    narrow = np.int16 if kind == np.int32 else kind
    demand(array.dtype in (kind, narrow))
    return np.ascontiguousarray(array, kind)


def _of_kind(array: np.ndarray, kind: Any) -> np.ndarray:
    demand(array.dtype == kind and array.ndim == 1)
    return array


def _is(kind: type, value: Any) -> Any:
    demand(type(value) is kind)
    return value


def _below(bound: int, value: Any) -> int:
    demand(type(value) is int and 0 <= value < bound)
    return value
