"""Surveys on disk: those that decoding made for a Lark grammar over a vocabulary, for later processes.

Surveys take most of the time of a first text, and they depend on nothing but the grammar and the vocabulary. So they
are written when their automaton is dropped (at the next compile) or the process ends, and read when the same grammar is
compiled again.

    name     sha256 over the name of the grammar's own entry (grammars/lark/cache.py), its tables, the vocabulary, which
             threads are asked about (trust.py), and the sources that make these arrays. The tables too: two processes
             may have made the entry at once, and only one's is there afterwards, while each saves surveys of states as
             it has numbered them
    content  a line of JSON with the position of each array, the arrays, a checksum. Kernels check no bounds, so
             everything that they index with is checked here: a checksum finds accidents, it does not prove who wrote
             the file
    states   are numbers here. Their objects are found again when something new must be made: the origin of each is
             stored, an earlier number and the byte that leads from it (numbers.py)
    size     at most 64 MB a file; the newest 100 and at most 512 MB of them stay

A file that is missing, damaged or unsound is ignored.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.array_files import demand, load_arrays, remove_oldest, save_arrays, touch
from grammarlm.cache import cache_folder, log_read, sources_digest
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.kernels import entries
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_arena import ARRAYS, USED_OF, fields
from grammarlm.layout.stack_calls import CUT, EMPTIES

from .arena_plan import Surveys

if TYPE_CHECKING:
    from grammarlm.grammars.lark.tables import LrTables

    from .numbers import StackNumbers
    from .program import StackProgram

MOST_FILES, MOST_BYTES, LARGEST = 100, 512 << 20, 64 << 20
ROOT = 3  # the origin of states that are known from the program, see numbers.py
Q_ROWS, B_ROWS, NODES = fields("states"), fields("borders"), fields("nodes")
# Arrays whose length is in the arena.
COUNTED = {array.field: USED_OF[array.group] for array in ARRAYS if array.saved and array.group in USED_OF}


@functools.cache
def _versions() -> str:
    """All that the arrays depend on besides the grammar and the vocabulary."""
    return f"{sources_digest(*entries.SOURCES)} {sources_digest('grammars', 'masks', 'vocab')}"


def store_path(program: StackProgram, surveys: Surveys) -> Path | None:
    """The path of this grammar's surveys; None where they are not saved."""
    lr = program.lr
    if lr is None or not program.is_lark or surveys is not Surveys.EVERYWHERE or program.token_columns:
        return None
    if program.has_forgotten:  # numbers from the disk are resolved by their terms
        return None
    digest = hashlib.sha256(_versions().encode())
    digest.update(program.parsers[0].path.name.encode() + program.vocab.fingerprint.encode())
    digest.update(bytes([program.trust.level]))
    digest.update(_numbering(lr))
    return cache_folder("surveys") / f"{digest.hexdigest()[:40]}.bin"


def _numbering(lr: LrTables) -> bytes:
    """A digest of all that determines which number means what."""
    digest = hashlib.sha256()
    for table in (lr.action, lr.goto, lr.rule, lr.ignored, lr.access):
        digest.update(f"{table.dtype} {table.shape}".encode())
        digest.update(table.tobytes())
    contexts = {lexer: i for i, lexer in enumerate(dict.fromkeys(lr.lexers))}
    plain = (
        [[lexer.ordered, lexer.keywords, lexer.before] for lexer in contexts],
        [contexts[lexer] for lexer in lr.lexers],
    )
    digest.update(json.dumps([*plain, lr.start, lr.blocks, sorted(lr.lost.items())]).encode())
    return digest.digest()


# ---------------------------------------------------------------------- writing


def save(numbers: StackNumbers, path: Path) -> bool:
    """Writes the surveys. False where they are too large, or the disk refuses."""
    arrays = _collected(numbers)
    if arrays is None:
        return False
    if not save_arrays(path, arrays, LARGEST, _key):
        return False
    remove_oldest(path.parent, MOST_FILES, MOST_BYTES)
    return True


def _collected(numbers: StackNumbers) -> dict[str, np.ndarray] | None:
    words = numbers.arena.words
    origins = np.array(numbers.origins, np.int32).reshape(-1, 3)
    border_origins = np.array(numbers.border_origins, np.int32).reshape(-1, 3)
    arrays = {field.name: numbers.arena.array(field)[: words[count]] for field, count in COUNTED.items()}
    arrays |= {field.name: numbers.arena.array(field)[: len(origins)] for field in Q_ROWS}
    arrays |= {field.name: numbers.arena.array(field)[: len(border_origins)] for field in B_ROWS}
    pairs, judged = numbers.arena.array(Field.B_AND), numbers.arena.array(Field.JUDGED)
    # Verdicts on stacks are left out: stack numbers are not saved.
    judged = judged[(judged[:, 0] >= 0) & (judged[:, 1] < 0)]
    return arrays | {
        "MOVES": numbers.arena.array(Field.MOVES)[: numbers.move_count],
        "VERDICTS": numbers.arena.array(Field.VERDICTS)[: numbers.verdict_count],
        "B_AND": pairs[pairs[:, 0] >= 0],
        "JUDGED": judged,
        "origins": origins,
        "border_origins": border_origins,
        "class_of": numbers.program.byte_sets.class_of,
        "start": np.array([numbers.start], np.int32),
    }


def _key(data: np.ndarray) -> int:
    key: int = entries.row_key(data.ctypes.data, len(data) // 4)
    return key


# ---------------------------------------------------------------------- reading


def load(numbers: StackNumbers, path: Path) -> dict[str, np.ndarray] | None:
    """The checked arrays of the file; None where there is no sound one."""
    try:
        arrays = load_arrays(path, LARGEST, _key)
        _check(numbers, arrays)
    except Exception as error:  # a damaged file raises almost anything
        log_read(path, error)
        return None
    log_read(path)
    touch(path)
    return arrays


def _check(numbers: StackNumbers, arrays: dict[str, np.ndarray]) -> None:
    """Raises where a kernel could read beyond an array."""
    for field in (*COUNTED, *Q_ROWS, *B_ROWS, Field.MOVES, Field.VERDICTS, Field.B_AND, Field.JUDGED):
        known = numbers.arena.array(field)
        demand(arrays[field.name].dtype == known.dtype and arrays[field.name].shape[1:] == known.shape[1:])
    program = numbers.program
    q, b, k = len(arrays["Q_NEXT"]), len(arrays["B_NEXT"]), len(arrays["K_LEXER"])
    demand(np.array_equal(arrays["class_of"], program.byte_sets.class_of))
    demand(q <= program.limits.max_states and b <= program.limits.max_states)
    demand(sum(array.nbytes for array in arrays.values()) < program.limits.max_bytes // 4)
    demand(
        all(len(arrays[field.name]) == q for field in Q_ROWS) and all(len(arrays[field.name]) == b for field in B_ROWS)
    )
    demand(arrays["origins"].shape == (q, 3) and arrays["border_origins"].shape == (b, 3) and b >= 2)
    _within(arrays["Q_NEXT"], 0, q)
    _within(arrays["B_NEXT"], 0, b)
    demand(not arrays["Q_NEXT"][:3].any() and not arrays["Q_MOVES"][:3].any())
    demand(not arrays["B_NEXT"][0].any() and bool((arrays["B_NEXT"][1] == 1).all()))
    for field, first in ((Field.Q_STATUS, 3), (Field.B_STATUS, 2)):
        demand(np.array_equal(arrays[field.name][:first], numbers.arena.array(field)[:first]))
    _within(arrays["start"], 3, q)
    demand(arrays["start"].shape == (1,))
    _check_origins(arrays, q, b, len(program.byte_sets.samples))
    is_lexical = _lexical(numbers, arrays["origins"])
    _check_moves(numbers, arrays, q, b, is_lexical)
    demand(k >= 1 and len(arrays["K_LIVE"]) == k)
    _within(arrays["K_LEXER"], 0, q)
    demand(is_lexical[arrays["K_LEXER"][arrays["K_LEXER"] > 0]].all())
    _within(arrays["B_AND"][:, 0] >> 32, 0, b)
    _within(arrays["B_AND"][:, 0] & 0xFFFFFFFF, 0, b)
    _within(arrays["B_AND"][:, 1], 0, b)
    _within(arrays["JUDGED"][:, 0], 0, q)
    _within(-1 - arrays["JUDGED"][:, 1], 0, q)
    _within(arrays["JUDGED"][:, 2], 0, b)
    _within(arrays["JUDGED"][:, 3], 0, len(arrays["VERDICTS"]))
    _check_tries(numbers, arrays)
    _check_surveys(numbers, arrays, q, b, k)
    _check_ends(arrays, is_lexical)


def _lexical(numbers: StackNumbers, origins: np.ndarray) -> np.ndarray:
    """Which states stand before or in a lexeme, on a stack of an LR parser; the others are states of rules. Bytes lead
    from neither kind to the other."""
    kinds = [isinstance(state, LexerState) for state in numbers.objects]
    demand((origins[: len(kinds), 0] == ROOT).all())
    for origin, of, _ in origins[len(kinds) :].tolist():
        kinds.append(kinds[of] if origin == 0 else False)
    return np.array(kinds)


def _check_ends(arrays: dict[str, np.ndarray], is_lexical: np.ndarray) -> None:
    """A lexeme's frame ends with a terminal, a rule's without: the kernels read the stack accordingly."""
    surveys, exits = arrays["SURVEY"].astype(np.int64), arrays["EXITS"]
    q = arrays["SURVEY_KEY"][:, 0] & 0xFFFFFFFF
    owner = np.repeat(np.arange(len(surveys)), surveys[:, 4])
    of_owner = np.arange(len(owner)) - np.repeat(np.cumsum(surveys[:, 4]) - surveys[:, 4], surveys[:, 4])
    labels = exits[surveys[owner, 3] + of_owner, 0]
    demand(((labels > 0) == is_lexical[q[owner]]).all())
    only_rows = q == 0
    demand(not surveys[only_rows, 4].any() and bool((surveys[only_rows, 0] == 1).all()))


def _check_moves(numbers: StackNumbers, arrays: dict[str, np.ndarray], q: int, b: int, is_lexical: np.ndarray) -> None:
    moves, ranges = arrays["MOVES"], arrays["Q_MOVES"]
    lr = numbers.program.lr
    assert lr is not None
    _within(ranges[:, 0], 0, len(moves) + 1)
    _within(ranges[:, 1], 0, len(moves) + 1)
    _within(ranges.sum(axis=1, dtype=np.int64), 0, len(moves) + 1)
    kind, operand, other = moves[:, 0], moves[:, 1], moves[:, 2]
    _within(kind, 0, layout.LINE + 1)
    bounds = {layout.CALL: (q, q), layout.POP: (1, b), layout.LEX: (len(lr.ignored), b), layout.END: (1, 1)}
    bounds |= {layout.ENTER: (len(lr.action), 1), layout.LINE: (layout.STATES, b)}
    for which, (most, most_other) in bounds.items():
        _within(operand[kind == which], 0, most)
        _within(other[kind == which], 0, most_other)
    demand(lr.blocks is not None or not (kind == layout.LINE).any())
    tables = numbers.program.parsers[0].tables
    assert tables is not None
    # From any other state, reductions would go below the stack.
    demand((operand[kind == layout.ENTER] == tables.start).all())
    after = arrays["Q_NEXT"]
    demand(not ((after > 0) & (after < 3)).any())
    of, column = np.nonzero(after)
    demand((is_lexical[of] == is_lexical[after[of, column]]).all())
    many = ranges[:, 1].astype(np.int64)
    of = np.repeat(np.arange(q), many)
    each = np.repeat(ranges[:, 0], many) + np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)
    lexical = np.isin(kind[each], (layout.LEX, layout.LINE, layout.END))
    demand((lexical == is_lexical[of]).all())
    status = arrays["Q_STATUS"]
    demand((status[~is_lexical] & layout.LIVE_KNOWN != 0).all())
    is_made = status & layout.EXPANDED != 0
    demand(not arrays["Q_NEXT"][~is_made].any() and not ranges[~is_made].any())
    calls = moves[kind == layout.CALL]
    demand((calls[:, 1] >= 3).all() and not is_lexical[calls[:, 1:]].any())
    demand(((calls[:, 2] == 0) | (calls[:, 2] >= 3)).all())  # no call returns to a pseudo-state


def _check_origins(arrays: dict[str, np.ndarray], q: int, b: int, columns: int) -> None:
    """Each origin refers to an earlier number, so that resolving them ends."""
    for name, first, count in (("origins", 3, q), ("border_origins", 2, b)):
        of = arrays[name][first:]
        _within(of[:, 0], 0, 4)
        same_kind = of[:, 0] != 1 if name == "border_origins" else of[:, 0] >= 0  # a border may come of any state
        demand((of[same_kind, 1] < np.arange(first, count)[same_kind]).all())
        _within(of[~same_kind, 1], 3, q)
        _within(of[:, 1], 0, max(q, b))
        _within(of[of[:, 0] == 0, 2], 0, columns)
        demand((of[:, 2] >= 0).all())


def _check_tries(numbers: StackNumbers, arrays: dict[str, np.ndarray]) -> None:
    tries, nodes, tokens = arrays["TRIES"], len(arrays["X_BYTE"]), arrays["X_TOKEN"]
    demand(len(tries) >= 1 and len(arrays["TRIE_KEY"]) == len(tries) and not tries[0].any())
    demand(all(len(arrays[field.name]) == nodes for field in NODES))
    entry, counts, empties = (tries[1:, i].astype(np.int64) for i in range(2, 5))
    _within(entry, 0, len(tokens) + 1)
    _within(entry + counts, 0, len(tokens) + 1)
    demand((counts >= 0).all() and (empties >= 0).all() and (empties <= counts).all())
    addresses = [arrays[field.name].ctypes.data for field in NODES[1:]]
    deepest = int(numbers.arena.words[Field.PATH_LENGTH])
    demand(entries.tries_are_sound(tries.ctypes.data, len(tries), nodes, *addresses, deepest))
    offsets = numbers.program.vocab.offsets
    demand(entries.entries_are_sound(tokens.ctypes.data, len(tokens), offsets.ctypes.data, len(offsets) - 1))


def _check_surveys(numbers: StackNumbers, arrays: dict[str, np.ndarray], q: int, b: int, k: int) -> None:
    surveys, keys, exits = arrays["SURVEY"].astype(np.int64), arrays["SURVEY_KEY"], arrays["EXITS"]
    words = numbers.program.vocab.words
    demand(len(keys) == len(surveys))
    kind, start, many, first, count = (surveys[:, i] for i in range(5))
    dense = kind == 1
    _within(kind, 0, 2)
    _within(start[dense], 0, len(arrays["DENSE"]))
    demand((start >= 0).all() and (many >= 0).all() and (first >= 0).all() and (count >= 0).all())
    _within((start + many)[~dense], 0, len(arrays["SPARSE"]) + 1)
    _within(first + count, 0, len(exits) + 1)
    _within(arrays["SPARSE"], 0, words * 32)
    for packed, (high, low) in ((keys[:, 0], (len(arrays["TRIES"]), q)), (keys[:, 1], (b, k))):
        _within(packed >> 32, 0, high)
        _within(packed & 0xFFFFFFFF, 0, low)
    lr = numbers.program.lr
    assert lr is not None
    _within(exits[:, 0], 0, len(lr.ignored) + 2 + layout.STATES)
    demand(lr.blocks is not None or bool((exits[:, 0] < len(lr.ignored) + 2).all()))
    _within(exits[:, 1], 0, b)
    _within(exits[:, 2], 1, max(2, len(arrays["TRIES"])))
    _check_signatures(arrays, len(surveys))


def _check_signatures(arrays: dict[str, np.ndarray], surveys: int) -> None:
    """Every number of a signature is one that fill_signed may follow."""
    where, known = arrays["SIGNATURES"].astype(np.int64), arrays["KNOWN_SIGNATURE"].astype(np.int64)
    begins, lengths = where[:, 0], where[:, 1]
    demand((lengths >= 1).all() and (begins == np.cumsum(lengths) - lengths).all() and lengths.sum() == len(known))
    before = np.concatenate([[0], known[:-1]])
    is_trie = before == EMPTIES
    heads = np.zeros(len(known), bool)
    heads[begins] = True
    is_trie &= ~heads
    _within(known[heads], 0, 2)
    _within(known[is_trie], 1, max(2, len(arrays["TRIES"])))
    others = known[~is_trie & ~heads]
    _within(others, CUT - surveys + 1, surveys)
    cuts = CUT - others[others <= CUT]
    demand((arrays["SURVEY"][cuts, 0] == 1).all())
    ends_open = (known[begins + lengths - 1] == EMPTIES) & ~is_trie[begins + lengths - 1]
    demand(not ends_open.any())


def _within(values: np.ndarray, low: int, high: int) -> None:
    """Raises unless low <= value < high for all."""
    if values.size:
        demand(values.min() >= low and values.max() < high)
