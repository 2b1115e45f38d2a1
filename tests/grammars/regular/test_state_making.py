"""What makes states fast is compared with what says the same in the plainest way: byte by byte, or by looking everywhere."""

import random

import pytest

import grammarlm as gl
from grammarlm.grammars.lark.byte_partition import split
from grammarlm.grammars.lark.lexer import LexerState
from tests.internals import program_of
from tests.laws.vocabularies import every_byte

VOCAB = every_byte().vocabulary()

GRAMMARS = [
    'start: (A | B | "when" | "while")+\nA: /[a-z]+/\nB: /[a-z]*[0-9]{1,3}(?!x)/\n%ignore " "\n',
    'start: (NAME "=" TEXT)*\nNAME: /[^\\W\\d]\\w*/\nTEXT: /"[^"]*"(?!")/ | /"""(.|\\n)*?"""/\n%ignore /\\s+/\n',
    'start: "a" ("b" | "bc" | C | D)*\nC: /b+c?/\nD: /c+(?=d)/ | "d"\n',
    # What stands after A can never come there, so what it demands is not trusted.
    'start: (A | B | C)*\nA: /ab?(?=!)/ | "z"\nB: /[bc]/\nC: "a"\n%ignore " "\n',
]


def test_bytes_are_in_a_part_iff_the_same_sets_have_them():
    rng = random.Random(7)
    for _ in range(200):
        made = [
            rng.choice([rng.getrandbits(256) & rng.getrandbits(256), 1 << rng.randrange(256), ((1 << 96) - 1) << 20])
            for _ in range(rng.randrange(9))
        ]
        sets = made + rng.choices(made, k=2) if made else []
        by_members: dict[tuple[int, ...], int] = {}
        for byte in range(256):
            members = tuple(place for place, bits in enumerate(sets) if bits >> byte & 1)
            if members:
                by_members[members] = by_members.get(members, 0) | 1 << byte
        parts = split(sets)
        assert {members: bits for bits, members in parts} == by_members
        assert len(parts) == len(by_members)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[^\n]{1,9}\n",
        r"[^\n]{0,4}",
        r"(?u)\w{3,6}( \w{3,6}){0,5}",
        r"(?u)\w{1,5}\d{2}é?",
        r".{2}(a|é.)*",
        r"[éñ]{1,3}",
        r"(?=.*b)[a-bé]{2,5}",
    ],
)
def test_pairs_are_the_terms_that_edges_lead_to(pattern):
    program = program_of(gl.compile(gl.Regex(pattern), VOCAB))
    algebra = program.algebra
    queue, seen, pairs = [program.start], {program.start}, 0
    for key in queue:
        found = {}
        for bits, target in algebra.open_edges(key):  # before `edges`: what that has made is handed out again
            if isinstance(target, tuple):
                pairs += 1
                assert program.is_alive(algebra.cat(*target))
                assert not algebra.cat(*target).nullable
            for byte in range(256):
                if bits >> byte & 1:
                    assert byte not in found
                    found[byte] = algebra.cat(*target) if isinstance(target, tuple) else target
            if target not in seen:
                seen.add(target)
                queue.append(target)
        term = algebra.cat(*key) if isinstance(key, tuple) else key
        plain = {byte: target for bits, target in algebra.edges(term) for byte in range(256) if bits >> byte & 1}
        assert found == plain
    assert pairs or pattern.startswith("(?=")


def reached(state: LexerState) -> list[LexerState]:
    found = [state]
    for here in found:
        found += [target for target in dict.fromkeys(t for _, t in here.edges) if target not in found]
    return found


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_what_a_state_may_become_is_what_some_state_after_it_is(grammar):
    program = program_of(gl.compile(gl.Lark(grammar), VOCAB))
    states = list(dict.fromkeys(s for start in set(program.lr.lexers) for s in reached(start)))
    assert len(states) > 5
    random.Random(3).shuffle(states)
    trust = program.trust
    for state in states:
        ends = [(at, terminal, border) for at in reached(state) for terminal, border in at.commits]
        assert state.lexer.live(state) == bits_of(terminal for _, terminal, _ in ends)
        if state.start:
            continue
        verdict = trust._verdict_within(state)
        alive = [(at, terminal, border) for at, terminal, border in ends if program.is_alive(border)]
        assert verdict.maybe == bits_of(terminal for _, terminal, _ in alive)
        assert verdict.surely == bits_of(
            terminal for _, terminal, border in alive if trust._trusts_after(terminal, border)
        )


def bits_of(terminals) -> int:
    return sum(1 << terminal for terminal in set(terminals))
