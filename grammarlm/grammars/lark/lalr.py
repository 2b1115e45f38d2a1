"""LALR(1) tables, those that lark would make. A grammar that is not LALR(1) has none, and its rules are read as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, OPENS_BLOCK, OPENS_BRACKET

from .lalr_states import Construct, Rules, States, construct, numbered
from .lexer import Lexer, LexerStart
from .loading import Loaded
from .lr_items import FlatItems
from .reductions import check_reductions, derived
from .tables import WHOLE, LrTables

MOST_CELLS = 1 << 25  # of a table: states times terminals, four bytes each


def lr_tables(loaded: Loaded, lexer: Lexer, kernel: Construct, tick: Callable[[], None]) -> LrTables | None:
    """The tables, None where the grammar is not LALR(1)."""
    tick()
    rules = numbered(loaded, tick)
    states = construct(loaded, rules, kernel)
    count, terminals = len(states.kernel_begins) - 1, len(loaded.index)
    if count * (terminals + 1) > MOST_CELLS:
        raise LimitExceeded(
            f"the grammar's parser has {count:,} states for {terminals:,} terminals; states times terminals are at "
            f"most {MOST_CELLS:,}: write many alternatives of a few characters as one regular expression, A: /a|b|.../"
        )
    tick()
    action = np.zeros((count, terminals + 1), np.int32)
    goto = np.full((count, len(loaded.nonterminals)), -1, np.int32)
    by = rules.column[states.symbols]
    goes = by < 0
    goto[states.states[goes], ~by[goes]] = states.targets[goes]
    action[states.states[~goes], by[~goes]] = states.targets[~goes] + 1
    state, complete, seen = states.complete_in, states.complete, states.lookaheads
    chosen = without_rivals(loaded, seen, state, complete)
    if chosen is None:
        return None
    shifted = seen & (action[state] > 0)
    chosen &= ~shifted
    # Rules by which something is reduced have numbers in the order in which the table has them.
    symbol = np.full(terminals + 1, len(rules.column))  # of each column
    symbol[rules.column[rules.column >= 0]] = np.flatnonzero(rules.column >= 0)
    lowest = np.where(chosen, symbol, len(rules.column)).min(axis=1)
    in_order = np.lexsort((complete, lowest, state))
    reduced = [*dict.fromkeys(complete[in_order[lowest[in_order] < len(rules.column)]].tolist())]
    number = np.full(len(rules.origins), -1)
    number[reduced] = range(len(reduced))
    place, its_column = np.nonzero(chosen)
    action[state[place], its_column] = -number[complete[place]] - 1
    # The text may end here: any positive number. Where something could be reduced instead, the end wins.
    end = goto[0, loaded.nonterminals.index(loaded.start)]
    action[end, terminals] = 1
    chosen[state == end, terminals] = False
    lost: dict[tuple[int, int], int] = {}
    for entry in np.flatnonzero((seen != chosen).any(axis=1) & (number[complete] >= 0)).tolist():
        away = np.flatnonzero(seen[entry] & ~chosen[entry]).tolist()
        lost[int(state[entry]), int(number[complete[entry]])] = sum(1 << one for one in away)
    origin = np.append(~rules.column[rules.origins[:-1]], WHOLE)
    lengths = np.stack([rules.lengths, origin], axis=1)[reduced]
    expansions = sorted({(rule.origin, rule.expansion) for rule in loaded.rules})
    ignored = np.array([name in loaded.ignored for name in loaded.index], np.uint8)
    access = np.zeros(len(action), np.uint8)
    blocks = None
    if loaded.indent is not None:
        blocks = _blocks(loaded, action, access)
    rule_array = (lengths if reduced else np.zeros((1, 2))).astype(np.int32)
    renamed = _keywords(loaded, lexer)
    comes = {keyword for of, keyword, _ in renamed if not ignored[of]}
    for name in loaded.renamed_only:
        if loaded.index[name] not in comes:
            action[:, loaded.index[name]] = 0
    check_reductions(action, goto, rule_array, expansions, loaded.nonterminals, tick)
    lexers = _contextual(loaded, lexer, action, ignored, renamed, 0)
    # If so, a terminal may have no lexeme although the table accepts it.
    is_placed = any(known.before is not UNKNOWN for known in lexers)
    return LrTables(
        action,
        goto,
        rule_array,
        ignored,
        lexers,
        0,
        bool(shifted.any()),
        dict(sorted(lost.items())),
        len(derived(expansions, lambda _: True, tick)) == len(loaded.nonterminals)
        and not loaded.renamed_only
        and not is_placed,
        access,
        blocks,
        _items(rules, states, origin),
        expansions,
        loaded.nonterminals,
    )


def without_rivals(loaded: Loaded, seen: np.ndarray, state: np.ndarray, complete: np.ndarray) -> np.ndarray | None:
    """Of several rules that may be complete in a state before a terminal, the one with the highest priority stays, if it is the
    only one. None where lark finds a conflict of rules."""
    chosen = seen.copy()
    begins = np.flatnonzero(np.diff(state, prepend=-1))
    ends = np.append(begins[1:], len(state))
    for first, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end - first < 2:
            continue
        for terminal in np.flatnonzero(seen[first:end].sum(axis=0) > 1).tolist():
            rivals = (np.flatnonzero(seen[first:end, terminal]) + first).tolist()
            rivals.sort(key=lambda entry: loaded.rules[complete[entry]].priority, reverse=True)
            highest, next_one = (loaded.rules[complete[entry]].priority for entry in rivals[:2])
            if highest == next_one:
                return None
            chosen[rivals[1:], terminal] = False
    return chosen


def _items(rules: Rules, states: States, origin: np.ndarray) -> FlatItems:
    """The kernel of each state."""
    lengths = rules.lengths
    rule = np.repeat(np.arange(len(lengths)), lengths + 1)
    read = np.arange(len(rule)) - (rules.begins[:-1] + np.arange(len(lengths)))[rule]
    items = np.stack([origin[rule], read, rules.begins[:-1][rule] + read, lengths[rule] - read], axis=1)
    symbols = rules.column[rules.bodies]
    return FlatItems(states.kernel_begins.astype(np.int32), items[states.kernels].astype(np.int32), symbols)


def _blocks(loaded: Loaded, action: np.ndarray, access: np.ndarray) -> tuple[int, int, int]:
    """Fills in `access` of each state; returns the terminals of blocks."""
    indent = loaded.indent
    assert indent is not None
    for names, what in (
        ((indent.indent,), OPENS_BLOCK),
        ((indent.dedent,), CLOSES_BLOCK),
        (indent.opens, OPENS_BRACKET),
        (indent.closes, CLOSES_BRACKET),
    ):
        for name in names:
            if name in loaded.index:
                shifted = action[:, loaded.index[name]]
                access[shifted[shifted > 0] - 1] = what
    missing = [name for name in (indent.indent, indent.dedent) if name not in loaded.index]
    if missing:
        raise GrammarError(f"no rule of the grammar uses {missing[0]}, which Indent(...) names")
    return loaded.index[indent.newline], loaded.index[indent.indent], loaded.index[indent.dedent]


def _contextual(
    loaded: Loaded,
    lexer: Lexer,
    action: np.ndarray,
    ignored: np.ndarray,
    renamed: list[tuple[int, int, bool]],
    start: int,
) -> list[LexerStart]:
    """The lexer's start state in each LR state; equal sets of terminals share one, if none tests for the start of the text."""
    apart = {loaded.index[name] for name in loaded.renamed_only}
    twins = {loaded.index[f"{name} (ignored)"] for name in loaded.renamed_only}
    known: dict[tuple[bytes, int | None], LexerStart] = {}
    out = []
    accepted = (action[:, : len(loaded.terminals)] != 0) | (ignored[: len(loaded.terminals)] != 0)[None, :]
    if lexer.newline is not None:  # line ends are read everywhere, and dropped within brackets
        accepted[:, lexer.newline] = True
    # The parser is in its first state once. Nothing has been read there, unless lexemes are dropped.
    first = UNKNOWN if loaded.ignored or lexer.newline is not None else TEXT_START
    asks = np.array([not t.is_first and t.looks_back for t in lexer.terminals], bool)
    asked_here = (accepted & asks).any(axis=1).tolist()
    packed = np.packbits(accepted, axis=1)
    rows, width = packed.tobytes(), packed.shape[1]
    for number, asks_before in enumerate(asked_here):
        before = UNKNOWN if not asks_before else first if number == start else SOMETHING
        key = rows[number * width : (number + 1) * width], before
        state = known.get(key)
        if state is None:
            here = set(np.flatnonzero(accepted[number]).tolist())
            words = (here | apart) - twins
            pairs = [(of, keyword) for of, keyword, _ in renamed if of in here and keyword in words]
            hidden = apart.union(keyword for of, keyword, embedded in renamed if embedded and of in here)
            asked = [t for t in sorted(here) if t not in hidden]
            lexer.check_first_characters(asked, before)
            state = known[key] = lexer.start(asked, pairs, before)
        out.append(state)
    return out


def _keywords(loaded: Loaded, lexer: Lexer) -> list[tuple[int, int, bool]]:
    """(terminal, string terminal whose whole text it matches, is the latter left out of the lexer's pattern?)"""
    words: dict[int, list[int]] = {}  # by first byte
    for number, t in enumerate(loaded.terminals):
        if t.pattern.kind == "str":
            words.setdefault(t.pattern.value[0].encode(errors="surrogatepass")[0], []).append(number)
    out = []
    for of, terminal in enumerate(loaded.terminals):
        if terminal.pattern.kind != "re":
            continue
        begins = lexer.begins(of) if words else 0
        for keyword in sorted(number for byte, its in words.items() if begins >> byte & 1 for number in its):
            word = loaded.terminals[keyword]
            if word.priority == terminal.priority and lexer.takes_whole(of, word.pattern.value):
                out.append((of, keyword, word.pattern.flags <= terminal.pattern.flags))
    return out
