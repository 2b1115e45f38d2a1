"""The LR(0) states of a grammar, in breadth-first order from the start.

An item is a rule of which some symbols have been read; those of a rule are adjacent, from none to all. A state is given by its
**kernel**, the items of which something has been read; its closure adds the rules that may begin there.
"""

from collections import namedtuple

from numba import int64, uint64

from grammarlm.kernels.cpu.jit import part
from grammarlm.layout.lalr import DONE, FULL, TOO_MANY_STATES, TOO_MUCH, Field

from .tables import kernel_item, taken

NONE = -1
SHIFT, ITEM = 32, (1 << 32) - 1  # a key is a symbol, and an item after it
# By item: the next symbol, or the number of symbols + the rule that is complete; its rule. By symbol: its first rule. By rule: the
# next one of its nonterminal.
Items = namedtuple("Items", ("symbols", "rules", "first", "following"))
# Of one state: the keys of its closure; by symbol the last state in which its rules were begun; the nonterminals begun here.
Closure = namedtuple("Closure", ("keys", "begun_in", "begun"))


@part
def items_of(tables):
    symbols, rules = tables.facts[Field.SYMBOLS], tables.facts[Field.RULES]
    count = len(tables.bodies) + rules
    items = Items(taken(tables, count), taken(tables, count), taken(tables, symbols), taken(tables, rules))
    items.first[:] = NONE
    for rule in range(rules - 1, -1, -1):
        begin, end = tables.begins[rule], tables.begins[rule + 1]
        items.rules[begin + rule : end + rule + 1] = rule
        items.symbols[end + rule] = symbols + rule
        for at in range(begin, end):
            items.symbols[at + rule] = tables.bodies[at]
        if rule < rules - 1:
            items.following[rule] = items.first[tables.origins[rule]]
            items.first[tables.origins[rule]] = rule
    return items


@part
def make_states(tables, items):
    """Writes kernels and links."""
    facts, room, most = tables.facts, tables.room, tables.facts[Field.MOST_STATES]
    symbols, rules = facts[Field.SYMBOLS], facts[Field.RULES]
    slots = int64(1)
    while slots < 2 * most:
        slots *= 2
    if facts[Field.USED] + len(items.symbols) + rules + 2 * symbols + slots + 1 > len(room):
        return FULL
    closure = Closure(taken(tables, len(items.symbols) + rules), taken(tables, symbols), taken(tables, symbols))
    table = taken(tables, slots)
    facts[Field.LINKS] = facts[Field.USED]
    closure.begun_in[:], table[:] = NONE, NONE
    keys = closure.keys
    room[len(room) - 1] = tables.begins[rules - 1] + rules - 1
    tables.kernel_begins[0], tables.kernel_begins[1], tables.link_begins[0] = 0, 1, 0
    states, state, size = int64(1), int64(0), int64(0)
    facts[Field.COMPLETE] = 0
    while state < states:
        count = _close(tables, items, closure, state)
        size += count
        if size > facts[Field.MOST_ITEMS]:
            return TOO_MUCH
        _sort(keys, count)
        begin = int64(0)
        while begin < count:
            symbol, end = keys[begin] >> SHIFT, begin + 1
            while end < count and keys[end] >> SHIFT == symbol:
                end += 1
            kernel_end = tables.kernel_begins[states]
            if facts[Field.USED] + 2 + kernel_end + end - begin > len(room):  # a link in front, a kernel behind
                return FULL
            link = taken(tables, int64(2))
            link[0] = symbol
            if symbol >= symbols:
                link[1] = facts[Field.COMPLETE]
                facts[Field.COMPLETE] += 1
            else:
                slot = _slot(tables, table, keys, begin, end)
                if table[slot] == NONE:
                    table[slot] = states
                    for place in range(end - begin):
                        room[len(room) - 1 - kernel_end - place] = keys[begin + place] & ITEM
                    states += 1
                    if states >= most:
                        return TOO_MANY_STATES
                    tables.kernel_begins[states] = kernel_end + end - begin
                link[1] = table[slot]
            begin = end
        state += 1
        tables.link_begins[state] = (facts[Field.USED] - facts[Field.LINKS]) >> 1
    facts[Field.STATES] = states
    return DONE


@part
def _close(tables, items, closure, state):
    """Writes the keys of a state, in no order; returns how many."""
    count, begun = int64(0), int64(0)
    for place in range(tables.kernel_begins[state], tables.kernel_begins[state + 1]):
        begun = _add(tables, items, closure, state, kernel_item(tables, place), count, begun)
        count += 1
    at = int64(0)
    while at < begun:
        rule = items.first[closure.begun[at]]
        while rule != NONE:
            begun = _add(tables, items, closure, state, tables.begins[rule] + rule, count, begun)
            count += 1
            rule = items.following[rule]
        at += 1
    return count


@part
def _add(tables, items, closure, state, item, count, begun):
    """The key of an item. Returns how many nonterminals are begun now."""
    symbol = items.symbols[item]
    closure.keys[count] = symbol << SHIFT | (item + 1)
    if symbol < len(tables.column) and tables.column[symbol] < 0 and closure.begun_in[symbol] != state:
        closure.begun_in[symbol] = state
        closure.begun[begun] = symbol
        begun += 1
    return begun


@part
def _sort(keys, count):
    """Shell's sort: most states have a few keys, nearly in order."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap //= 2


@part
def _slot(tables, table, keys, begin, end):
    """Where the state with this kernel is in the hash table, or would be."""
    mixed, mask = uint64(end - begin), len(table) - 1
    for place in range(begin, end):
        mixed = (mixed ^ uint64(keys[place] & ITEM)) * uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> uint64(29)
    slot = int64(mixed & uint64(mask))
    while table[slot] != NONE:
        first = tables.kernel_begins[table[slot]]
        place, length = int64(0), end - begin
        if tables.kernel_begins[table[slot] + 1] - first == length:
            while place < length and kernel_item(tables, first + place) == keys[begin + place] & ITEM:
                place += 1
        if place == length:
            break
        slot = (slot + 1) & mask
    return slot
