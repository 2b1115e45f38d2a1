"""LALR(1) tables, those that lark would make. A grammar that is not LALR(1) has none, and its rules are read as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, OPENS_BLOCK, OPENS_BRACKET, STATES

from .lalr_states import Rules, States, construct
from .lexer import Lexer, LexerStart
from .loading import Loaded
from .lr_items import FlatItems
from .reductions import check_reductions, derived
from .tables import WHOLE, LrTables

END = "$END"
MOST_CELLS = 1 << 25  # of a table: states times terminals, four bytes each
MOST_OF_LARK = 300  # states, for which lark's analysis takes up to half a second


def lr_tables(loaded: Loaded, lexer: Lexer, tick: Callable[[], None]) -> LrTables | None:
    """The tables, None where the grammar is not LALR(1)."""
    column, rules = numbered(loaded)
    states = construct(rules, STATES, tick)
    lookaheads = states.lookaheads
    if lookaheads is None:
        lookaheads = lookaheads_of_lark(loaded, column, states)
    count, terminals = len(states.kernels), len(loaded.index)
    if count * (terminals + 1) > MOST_CELLS:
        raise LimitExceeded(
            f"the grammar's parser has {count:,} states for {terminals:,} terminals; states times terminals are at "
            f"most {MOST_CELLS:,}: write many alternatives of a few characters as one regular expression, A: /a|b|.../"
        )
    tick()
    columns, is_nonterminal = np.array(column), np.array(rules.is_nonterminal)
    action = np.zeros((count, terminals + 1), np.int32)
    goto = np.full((count, len(loaded.nonterminals)), -1, np.int32)
    at = np.repeat(np.arange(count), [len(after) for after in states.transitions])
    symbols = np.array([symbol for after in states.transitions for symbol in after], np.int64)
    targets = np.array([target for after in states.transitions for target in after.values()], np.int64)
    goes = is_nonterminal[symbols]
    goto[at[goes], ~columns[symbols[goes]]] = targets[goes]
    action[at[~goes], columns[symbols[~goes]]] = targets[~goes] + 1
    # A complete rule in a state is a row of `seen`, and the terminals after which it may be complete.
    state = np.repeat(np.arange(count), [len(of) for of in lookaheads])
    complete = np.array([rule for of in lookaheads for rule in of], np.int64)
    seen = _as_rows([where for of in lookaheads for where in of.values()], rules.symbols)
    of_column = np.empty(terminals + 1, np.int64)  # the symbol of each column
    of_column[columns[columns >= 0]] = np.flatnonzero(columns >= 0)
    seen = seen[:, of_column]
    chosen = without_rivals(loaded, seen, state, complete)
    if chosen is None:
        return None
    shifted = seen & (action[state] > 0)
    chosen &= ~shifted
    # Rules by which something is reduced have numbers in the order in which the table has them.
    lowest = np.where(chosen, of_column, rules.symbols).min(axis=1, initial=rules.symbols)
    in_order = np.lexsort((complete, lowest, state))
    reduced = [*dict.fromkeys(complete[in_order[lowest[in_order] < rules.symbols]].tolist())]
    number = np.full(len(rules.bodies), -1)
    number[reduced] = range(len(reduced))
    place, its_column = np.nonzero(chosen)
    action[state[place], its_column] = -number[complete[place]] - 1
    lost: dict[tuple[int, int], int] = {}
    for entry in np.flatnonzero((seen != chosen).any(axis=1) & (number[complete] >= 0)).tolist():
        away = np.flatnonzero(seen[entry] & ~chosen[entry]).tolist()
        lost[int(state[entry]), int(number[complete[entry]])] = sum(1 << one for one in away)
    (start,) = rules.bodies[-1]
    action[states.transitions[0][start], terminals] = 1  # the text may end here: any positive number
    origin = [*(rule.origin for rule in loaded.rules), WHOLE]
    lengths = [(len(rules.bodies[rule]), origin[rule]) for rule in reduced]
    expansions = sorted({(rule.origin, rule.expansion) for rule in loaded.rules})
    ignored = np.array([name in loaded.ignored for name in loaded.index], np.uint8)
    access = np.zeros(len(action), np.uint8)
    blocks = None
    if loaded.indent is not None:
        blocks = _blocks(loaded, action, access)
    rule_array = np.array(lengths or [(0, 0)], np.int32)
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
        _items(columns, rules, states, origin),
        expansions,
        loaded.nonterminals,
    )


def _as_rows(sets: list[int], count: int) -> np.ndarray:
    """Bit sets of `count` bits as rows of booleans."""
    width = -(-count // 8)
    packed = np.frombuffer(b"".join([bits.to_bytes(width, "little") for bits in sets]), np.uint8).reshape(-1, width)
    return np.unpackbits(packed, axis=1, bitorder="little", count=count).view(bool)


def numbered(loaded: Loaded) -> tuple[list[int], Rules]:
    """The rules over symbols in the order of their names, and of each symbol its number in `loaded`, where the end of the text is
    the last terminal and the whole text the last nonterminal. (lark's own numbers depend on the hashes of strings.)"""
    ends, count = len(loaded.index), len(loaded.nonterminals)
    codes = [*range(ends + 1), *(~n for n in range(count + 1))]
    names = [*loaded.index, END, *loaded.nonterminals, f"$root_{loaded.start}"]
    order = sorted(range(len(codes)), key=names.__getitem__)
    column = [codes[at] for at in order]
    number = {code: symbol for symbol, code in enumerate(column)}
    origins = [number[~rule.origin] for rule in loaded.rules]
    bodies = [tuple([number[symbol] for symbol in rule.expansion]) for rule in loaded.rules]
    start = number[~loaded.nonterminals.index(loaded.start)]
    return column, Rules(
        len(column), [code < 0 for code in column], [*origins, number[~count]], [*bodies, (start,)], number[ends]
    )


def lookaheads_of_lark(loaded: Loaded, column: list[int], states: States) -> list[dict[int, int]]:
    """The lookaheads that lark computes, which is slow: only for ambiguous grammars of a few states."""
    from lark.common import ParserConf
    from lark.parsers.lalr_analysis import LALR_Analyzer

    if len(states.kernels) > MOST_OF_LARK:
        raise LimitExceeded(
            f"rules that may be empty follow each other in a circle, in a parser of {len(states.kernels):,} states; at most "
            f"{MOST_OF_LARK} are supported: write one of these rules so that it reads something"
        )
    of_lark = rules_of_lark(loaded)
    analysis = LALR_Analyzer(ParserConf(of_lark, {}, [loaded.start]))
    for compute in ("lr0_states", "reads_relations", "includes_lookback", "lookaheads"):
        getattr(analysis, f"compute_{compute}")()
    number = {rule: i for i, rule in enumerate(of_lark)}
    terminals = [*loaded.index, END]
    index = {terminals[code] if code >= 0 else [*loaded.nonterminals, ""][~code]: i for i, code in enumerate(column)}
    found: list[dict[int, int]] = [{} for _ in states.kernels]
    (root,) = analysis.lr0_start_states.values()
    places = {root: 0}
    waiting = [root]
    for itemset in waiting:  # grows while iterating
        here = places[itemset]
        for symbol, after in itemset.transitions.items():
            if after not in places:
                places[after] = states.transitions[here][index[str(symbol.name)]]
                waiting.append(after)
        for lookahead, complete in itemset.lookaheads.items():
            for rule in complete:
                at = number[rule]
                found[here][at] = found[here].get(at, 0) | 1 << index[str(lookahead.name)]
    return found


def rules_of_lark(loaded: Loaded) -> list[Any]:
    from lark import grammar

    terminals = [grammar.Terminal(name) for name in loaded.index]
    nonterminals = [grammar.NonTerminal(name) for name in loaded.nonterminals]
    return [
        grammar.Rule(
            nonterminals[rule.origin],
            [terminals[symbol] if symbol >= 0 else nonterminals[~symbol] for symbol in rule.expansion],
            options=grammar.RuleOptions(priority=rule.priority),
        )
        for rule in loaded.rules
    ]


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


def _items(columns: np.ndarray, rules: Rules, states: States, origin: list[int]) -> FlatItems:
    """The kernel of each state. Items of a rule are adjacent (`Items` in lalr_states.py)."""
    lengths = np.array([len(body) for body in rules.bodies])
    firsts = np.cumsum(lengths + 1) - lengths - 1
    rule = np.repeat(np.arange(len(lengths)), lengths + 1)
    read = np.arange(len(rule)) - firsts[rule]
    places = np.cumsum(lengths) - lengths
    items = np.stack([np.array(origin)[rule], read, places[rule] + read, lengths[rule] - read], axis=1)
    kernels = np.array([item for kernel in states.kernels for item in kernel], np.int64)
    begins = np.cumsum([0, *(len(kernel) for kernel in states.kernels)], dtype=np.int32)
    symbols = columns[[symbol for body in rules.bodies for symbol in body]].astype(np.int32)
    return FlatItems(begins, items[kernels].astype(np.int32), symbols)


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
    for number, row in enumerate(accepted):
        before = UNKNOWN if not asked_here[number] else first if number == start else SOMETHING
        key = packed[number].tobytes(), before
        state = known.get(key)
        if state is None:
            here = set(np.flatnonzero(row).tolist())
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
