"""LALR(1) tables, those that lark would make. A grammar that is not LALR(1) has none, and its rules are read as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from grammarlm.errors import GrammarError, LimitExceeded
from grammarlm.grammars.regular.ordered import SOMETHING, TEXT_START, UNKNOWN
from grammarlm.layout.stack import CLOSES_BLOCK, CLOSES_BRACKET, OPENS_BLOCK, OPENS_BRACKET, STATES

from .lalr_states import Rules, States, bits, construct
from .lexer import Lexer, LexerStart
from .loading import Loaded
from .reductions import check_reductions, derived
from .tables import WHOLE, Item, LrTables

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
    chosen = choose_reductions(loaded, rules, states, lookaheads)
    if chosen is None:
        return None
    nonterminals = loaded.nonterminals
    terminals = len(loaded.index)
    of_goto = [~symbol for symbol in column]
    if len(states.kernels) * (terminals + 1) > MOST_CELLS:
        raise LimitExceeded(
            f"the grammar's parser has {len(states.kernels):,} states for {terminals:,} terminals; states times terminals are at "
            f"most {MOST_CELLS:,}: write many alternatives of a few characters as one regular expression, A: /a|b|.../"
        )
    action = np.zeros((len(states.kernels), terminals + 1), np.int32)
    goto = np.full((len(states.kernels), max(1, len(nonterminals))), -1, np.int32)
    number: dict[int, int] = {}  # of rules by which something is reduced, in the order in which the table has them
    columns_of = cache(lambda where: np.array([column[terminal] for terminal in bits(where)], np.int64))
    for state, after in enumerate(states.transitions):
        tick()
        for symbol, target in after.items():
            if rules.is_nonterminal[symbol]:
                goto[state, of_goto[symbol]] = target
            else:
                action[state, column[symbol]] = target + 1
        for _, rule, where in sorted((where & -where, rule, where) for rule, where in chosen[state].items()):
            at = number.setdefault(rule, len(number))
            action[state, columns_of(where)] = -at - 1
    ends = states.transitions[0][rules.bodies[-1][0]]
    action[ends, terminals] = 1  # the text may end here: any positive number
    origin = [*(rule.origin for rule in loaded.rules), WHOLE]
    lengths = [(len(rules.bodies[rule]), origin[rule]) for rule in number]

    expansions = sorted({(rule.origin, rule.expansion) for rule in loaded.rules})
    items = _items(loaded, states, origin)
    ignored = np.array([name in loaded.ignored for name in loaded.index], np.uint8)
    access = np.zeros(len(action), np.uint8)
    blocks = None
    if loaded.indent is not None:
        blocks = _blocks(loaded, action, access)
    rule_array = np.array(lengths or [(0, 0)], np.int32)
    lost = _lost(lookaheads, action, number, columns_of, tick)
    shift_won = any(
        shifted(rules, after) & where
        for after, of in zip(states.transitions, lookaheads, strict=True)
        for where in of.values()
    )
    renamed = _keywords(loaded, lexer)
    comes = {keyword for of, keyword, _ in renamed if not ignored[of]}
    for name in loaded.renamed_only:
        if loaded.index[name] not in comes:
            action[:, loaded.index[name]] = 0
    check_reductions(action, goto, rule_array, expansions, nonterminals, tick)
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
        shift_won,
        lost,
        len(derived(expansions, lambda _: True, tick)) == len(nonterminals)
        and not loaded.renamed_only
        and not is_placed,
        access,
        blocks,
        items,
        expansions,
        nonterminals,
    )


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


def shifted(rules: Rules, after: dict[int, int]) -> int:
    """The terminals that are shifted, as bits."""
    return sum(1 << symbol for symbol in after if not rules.is_nonterminal[symbol])


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


def choose_reductions(
    loaded: Loaded, rules: Rules, states: States, lookaheads: list[dict[int, int]]
) -> list[dict[int, int]] | None:
    """Of each state: rule -> terminals on which it is reduced. None where lark finds a conflict of rules.

    Shifting wins against reducing; of several rules the one with the highest priority, if it is the only one.
    """
    chosen = []
    for after, of in zip(states.transitions, lookaheads, strict=True):
        here = dict(of)
        if len(here) > 1:
            seen = contested = 0
            for where in here.values():
                contested |= seen & where
                seen |= where
            for terminal in bits(contested):
                rivals = [rule for rule, where in here.items() if where >> terminal & 1]
                rivals.sort(key=lambda rule: loaded.rules[rule].priority, reverse=True)
                first, second = (loaded.rules[rule].priority for rule in rivals[:2])
                if first == second:
                    return None
                for rule in rivals[1:]:
                    here[rule] &= ~(1 << terminal)
        free = ~shifted(rules, after)
        chosen.append({rule: where & free for rule, where in here.items() if where & free})
    return chosen


def _items(loaded: Loaded, states: States, origin: list[int]) -> list[tuple[Item, ...]]:
    """The kernel of each state."""
    known: list[Item] = []
    for number, body in enumerate([*(rule.expansion for rule in loaded.rules), (~loaded.nonterminals.index(loaded.start),)]):
        known += [Item(origin[number], read, body[read:]) for read in range(len(body) + 1)]
    in_order = sorted(range(len(known)), key=lambda i: (known[i].origin, known[i].read, known[i].rest))
    place = {item: at for at, item in enumerate(in_order)}
    return [tuple(known[item] for item in sorted(kernel, key=place.__getitem__)) for kernel in states.kernels]


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


def _lost(
    lookaheads: list[dict[int, int]],
    action: np.ndarray,
    number: dict[int, int],
    columns_of: Callable[[int], np.ndarray],
    tick: Callable[[], None],
) -> dict[tuple[int, int], int]:
    """The lookaheads of each reduction on which the tables do something else."""
    lost: dict[tuple[int, int], int] = {}
    for state, of in enumerate(lookaheads):
        tick()
        for rule, where in of.items():
            if rule in number:
                columns = columns_of(where)
                others = columns[action[state, columns] != -number[rule] - 1]
                if len(others):
                    lost[state, number[rule]] = sum(1 << column for column in others.tolist())
    return dict(sorted(lost.items()))


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
    asks = np.array([not t.is_first and t.pattern.start.looks_back for t in lexer.terminals], bool)
    for number, row in enumerate(accepted):
        before = UNKNOWN if not (row & asks).any() else first if number == start else SOMETHING
        key = row.tobytes(), before
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
    words = [(i, t) for i, t in enumerate(loaded.terminals) if t.pattern.kind == "str"]
    out = []
    for of, terminal in enumerate(loaded.terminals):
        if terminal.pattern.kind != "re":
            continue
        for keyword, word in words:
            if word.priority == terminal.priority and lexer.takes_whole(of, word.pattern.value):
                out.append((of, keyword, word.pattern.flags <= terminal.pattern.flags))
    return out
