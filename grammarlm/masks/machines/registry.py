"""The machines: which grammars each one takes, and where it compiles them. A new machine is one line here.

The first machine that takes a grammar compiles it. A compile function takes (grammar, vocab, limits, canonical_only) and
returns the automaton and its report; it is imported when a grammar of its kind is first compiled, since it loads kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from grammarlm.errors import UnsatisfiableGrammar
from grammarlm.grammars.cfg.assembly import needs_stack
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.part_graph import ITEMS, has_parts
from grammarlm.grammars.substring import Substring
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.messages import empty_parts
from grammarlm.masks.report import Report
from grammarlm.masks.runtime.limits import Limits
from grammarlm.masks.token_facts import ALL_BYTES, token_facts
from grammarlm.vocab.vocabulary import Vocabulary

Made = tuple[Automaton, Report]
Compile = Callable[[Grammar, Vocabulary, Limits, bool], Made]


@dataclass(frozen=True)
class Machine:
    """A kind of program and epoch, for the grammars that it takes."""

    name: str
    takes: Callable[[Grammar], bool]
    home: str  # "module:function" that compiles them; the module is relative to masks/machines/, or absolute
    names_empty_parts: bool = False  # where a text of bytes has an empty part, should the error name it?

    @cached_property
    def compile(self) -> Compile:
        module, function = self.home.split(":")
        found: Compile = getattr(import_module(module, __package__), function)
        return found


MACHINES = [
    Machine("json", lambda grammar: isinstance(grammar, JsonSchema), ".json.compile.compile:json_automaton"),
    Machine("items", lambda grammar: isinstance(grammar, ITEMS), ".items.compile:items_automaton"),
    Machine("substring", lambda grammar: isinstance(grammar, Substring), ".substring.compile:substring_automaton"),
    Machine("parts", has_parts, ".parts.compile:parts_automaton"),
    Machine("stack", needs_stack, ".stack.compile:stack_automaton", names_empty_parts=True),
    Machine("regular", lambda grammar: True, ".regular.compile:regular_automaton", names_empty_parts=True),
]


def machine_of(grammar: Grammar) -> Machine:
    """The first machine that takes a grammar."""
    return next(machine for machine in MACHINES if machine.takes(grammar))


def automaton_of(grammar: Grammar, vocab: Vocabulary, limits: Limits, canonical_only: bool) -> Made:
    """The grammar's automaton, by its machine."""
    machine = machine_of(grammar)
    try:
        automaton, report = machine.compile(grammar, vocab, limits, canonical_only)
        automaton.machine = machine.name
        return automaton, report
    except UnsatisfiableGrammar as error:
        # Tokens that spell a part may be missing, while others spell it together with the next.
        if not machine.names_empty_parts or token_facts(vocab).single_bytes != ALL_BYTES:
            raise

        def again(part: Grammar) -> Made:
            return machine_of(part).compile(part, vocab, limits, canonical_only)

        raise empty_parts.named(grammar, error, again, limits) from None
