"""LALR(1) lookaheads by DeRemer and Pennello's relations on bit sets.

A **transition** is a pair of a state and a nonterminal that leads on from there. What may follow it:

    reads      terminals that come next, directly or after nonterminals that may be empty
    includes   where a rule ends with the nonterminal, what may follow the rule's own transition, where the rule began

The lookaheads of a rule in a state are what may follow the transitions from where it began. They are those that lark computes,
conflicts included: it also follows rules of the nonterminal that began earlier in the kernel of the transition's state.
"""

from collections import namedtuple

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part
from grammarlm.layout.lalr import DONE, FULL, IN_A_CIRCLE, TOO_MUCH, Field

from .states import NONE, items_of, make_states
from .tables import kernel_item, tables_of, taken

# Edges in lists: of each node its newest edge; pairs (node, the next older edge); how many there are in all lists.
Lists = namedtuple("Lists", ("first", "edges", "count"))
# By link: the number of its transition. By transition: its state, its link, what may follow it (words of bits).
Transitions = namedtuple("Transitions", ("number", "states", "links", "follow"))


@kernel("int64(int64)")
def lalr(address):
    """Writes states and lookaheads of a grammar. Where FULL is answered, they are asked for again with more room."""
    tables = tables_of(address)
    facts, room = tables.facts, tables.room
    facts[Field.USED] = 0
    if 2 * (len(tables.bodies) + 2 * facts[Field.RULES]) + facts[Field.SYMBOLS] > len(room):
        return FULL
    items = items_of(tables)
    answer = make_states(tables, items)
    if answer != DONE:
        return answer
    links, states = room[facts[Field.LINKS] :], facts[Field.STATES]
    words, count = (facts[Field.TERMINALS] + 63) >> 6, int64(0)
    for link in range(tables.link_begins[states]):
        count += is_transition(tables, links[2 * link])
    complete, room_end = words * facts[Field.COMPLETE], len(room) - tables.kernel_begins[states]
    if facts[Field.USED] + complete + tables.link_begins[states] + (8 + words) * count + 1 > room_end:
        return FULL
    facts[Field.LOOKAHEADS] = facts[Field.USED]
    lookaheads = taken(tables, complete)
    transitions = Transitions(
        taken(tables, tables.link_begins[states]),
        taken(tables, count),
        taken(tables, count),
        taken(tables, words * count),
    )
    first, looks, tarjan, counted = (
        taken(tables, count),
        taken(tables, count),
        taken(tables, 4 * count),
        taken(tables, int64(1)),
    )
    lists = Lists(first, room[facts[Field.USED] : room_end], counted)
    lookaheads[:], transitions.follow[:] = 0, 0
    lists.first[:], lists.count[0] = NONE, 0
    _number(tables, links, transitions)
    if not _read(tables, links, transitions, words, lists):
        return FULL
    if _unite(transitions.follow, words, lists, tarjan):
        return IN_A_CIRCLE
    lists.first[:], looks[:], lists.count[0] = NONE, NONE, 0
    answer = _include(tables, items, links, transitions, lists, looks)
    if answer != DONE:
        return answer
    if lists.count[0] * words > facts[Field.MOST_WORK]:
        return TOO_MUCH
    _unite(transitions.follow, words, lists, tarjan)
    for at in range(count):
        edge = looks[at]
        while edge != NONE:
            for word in range(words):
                lookaheads[lists.edges[2 * edge] * words + word] |= transitions.follow[at * words + word]
            edge = lists.edges[2 * edge + 1]
    return DONE


@inlined
def is_transition(tables, symbol):
    return symbol < len(tables.column) and tables.column[symbol] < 0


@part
def _number(tables, links, transitions):
    at = int64(0)
    for state in range(tables.facts[Field.STATES]):
        for link in range(tables.link_begins[state], tables.link_begins[state + 1]):
            if is_transition(tables, links[2 * link]):
                transitions.number[link], transitions.states[at], transitions.links[at] = at, state, link
                at += 1


@part
def _read(tables, links, transitions, words, lists):
    """Writes the terminals that come next, and the lists of `reads`."""
    start = tables.bodies[len(tables.bodies) - 1]
    for at in range(len(transitions.states)):
        begin, link = at * words, transitions.links[at]
        target = links[2 * link + 1]
        if transitions.states[at] == 0 and links[2 * link] == start:
            _put(transitions.follow, begin, tables.facts[Field.TERMINALS] - 1)
        for after in range(tables.link_begins[target], tables.link_begins[target + 1]):
            symbol = links[2 * after]
            if is_transition(tables, symbol):
                if tables.is_empty[symbol] and not _connect(lists, lists.first, at, transitions.number[after]):
                    return False
            elif symbol < len(tables.column):
                _put(transitions.follow, begin, tables.column[symbol])
    return True


@part
def _include(tables, items, links, transitions, lists, looks):
    """Follows the rules of each transition to their ends: the lists of `includes`, and where rules are complete."""
    steps = int64(0)
    for at in range(len(transitions.states)):
        state, nonterminal = transitions.states[at], links[2 * transitions.links[at]]
        rule = items.first[nonterminal]
        while rule != NONE:
            end = _follow(tables, links, transitions, lists, at, state, rule, int64(0))
            if end == NONE or not _connect(lists, looks, at, links[2 * end + 1]):
                return FULL
            steps += tables.begins[rule + 1] - tables.begins[rule]
            rule = items.following[rule]
        for place in range(tables.kernel_begins[state], tables.kernel_begins[state + 1]):
            item = kernel_item(tables, place)
            rule = items.rules[item]
            read = item - tables.begins[rule] - rule
            if read and tables.origins[rule] == nonterminal:
                if _follow(tables, links, transitions, lists, at, state, rule, read) == NONE:
                    return FULL
                steps += tables.begins[rule + 1] - tables.begins[rule]
        if steps > tables.facts[Field.MOST_WORK]:
            return TOO_MUCH
    return DONE


@part
def _follow(tables, links, transitions, lists, at, state, rule, read):
    """From a state in which so much of the rule has been read to its end. Returns the link there; NONE if there is no room."""
    begin, end = tables.begins[rule], tables.begins[rule + 1]
    tail = end  # from here on all symbols may be empty
    while tail > begin and tables.is_empty[tables.bodies[tail - 1]]:
        tail -= 1
    for place in range(begin + read, end):
        link = _link_of(tables, links, state, tables.bodies[place])
        if place + 1 >= tail and tables.column[tables.bodies[place]] < 0:
            if not _connect(lists, lists.first, transitions.number[link], at):
                return int64(NONE)
        state = links[2 * link + 1]
    return _link_of(tables, links, state, len(tables.column) + rule)


@part
def _link_of(tables, links, state, symbol):
    """The link of a state with this symbol, which it has."""
    begin, end = tables.link_begins[state], tables.link_begins[state + 1]
    while begin < end:
        middle = (begin + end) >> 1
        if links[2 * middle] < symbol:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def _put(sets, begin, bit):
    sets[begin + (bit >> 6)] |= int64(1) << (bit & 63)


@part
def _connect(lists, first, node, other):
    """Adds an edge to a node's list; false where there is no room."""
    count = lists.count[0]
    if 2 * count + 2 > len(lists.edges):
        return False
    lists.edges[2 * count], lists.edges[2 * count + 1] = other, first[node]
    first[node] = count
    lists.count[0] = count + 1
    return True


@part
def _unite(sets, words, lists, scratch):
    """Joins to each node's set those of all nodes that it reaches. Returns whether some nodes reach each other.

    Tarjan's strongly connected components, without recursion: nodes are finished after all that they reach.
    """
    count = len(lists.first)
    depth, own = scratch[:count], scratch[count : 2 * count]  # 0: not visited; -1: finished
    stack, path = scratch[2 * count : 3 * count], scratch[3 * count :]
    depth[:] = 0
    is_cyclic, height = False, int64(0)
    for root in range(count):
        length = int64(0)
        other = root if depth[root] == 0 else NONE
        while True:
            if other != NONE:
                path[length], stack[height] = other, other
                length, height = length + 1, height + 1
                depth[other] = own[other] = height
            elif length == 0:
                break
            node, other = path[length - 1], int64(NONE)
            edge = lists.first[node]
            if edge != NONE:
                after = lists.edges[2 * edge]
                if depth[after] == 0:
                    other = after
                    continue
                lists.first[node] = lists.edges[2 * edge + 1]
                if depth[after] > 0:
                    depth[node] = min(depth[node], depth[after])
                for word in range(words):
                    sets[node * words + word] |= sets[after * words + word]
                continue
            length -= 1
            if depth[node] == own[node]:
                while True:
                    height -= 1
                    member = stack[height]
                    depth[member] = -1
                    if member == node:
                        break
                    is_cyclic = True
                    for word in range(words):
                        sets[member * words + word] = sets[node * words + word]
    return is_cyclic
