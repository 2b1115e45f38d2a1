"""A text whose parts have automata of their own: a JSON schema or an item set between others (grammars/part_graph.py).

Each part is compiled to an automaton as if it stood alone, with its own states. A text stands in a set of **places**:
(part, state). A token is read inside a part, or crosses a **border**: a prefix of it ends a part, and the rest begins
what follows. An item is whole tokens: its part is entered and left between tokens only.

No automaton has dead ends, and each part has a text, so a place can always be completed; where all single bytes are
tokens, also by tokens.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grammarlm.errors import UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.cfg.assembly import needs_stack
from grammarlm.grammars.compose import Grammar, leaves
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.part_graph import most_tokens, part_graph, without
from grammarlm.grammars.text import Text
from grammarlm.kernels import entries
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.json.compile.compile import tables_of
from grammarlm.masks.machines.stack.compile import refuse_named_text
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.report import Report
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PARTS, shared_lock
from grammarlm.masks.token_facts import ALL_BYTES, token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .borders import Borders
from .clocks import Clocks
from .costs import PartsCosts
from .reader import PartsReader
from .rests import Rests
from .sieves import sieves_of

Compile = Callable[[Grammar], tuple[Automaton, Report]]


class PartsProgram(ProgramDefaults):
    """What all texts have in common."""

    tokens_spell_all = True
    costs_class = PartsCosts

    def __init__(self, grammar: Grammar, vocab: Vocabulary, limits: Limits, compile_part: Compile):
        self.vocab, self.limits = vocab, limits
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PARTS)
        self.start: Any = ("start",)
        self.automata: list[Automaton] = []
        self.reports: list[Report] = []
        self._load_kernels(grammar)
        self._compile_parts(grammar, compile_part)
        self.machines = list({id(automaton): automaton for automaton in self.automata}.values())
        self.byte_tokens: list[int] = self.facts.byte_tokens.tolist()
        self.most_tokens = [most_tokens(part) for part in self.graph.parts]
        self.has_most_tokens = any(most is not None for most in self.most_tokens)
        here = weakref.proxy(self)  # what holds its owner would wait for the garbage collector
        reader = PartsReader(here)
        self.clock = Clocks(limits)
        self.borders = Borders(here, reader)
        self.rests = Rests(here, reader)
        self._refuse_too_few_tokens()

    def _compile_parts(self, grammar: Grammar, compile_part: Compile) -> None:
        """Makes the automata, and leaves out parts that have no text."""
        clock = Clock(self.limits)
        made: dict[Grammar, tuple[Automaton, Report] | UnsatisfiableGrammar] = {}  # equal grammars share one automaton

        def of(part: Grammar) -> tuple[Automaton, Report] | UnsatisfiableGrammar:
            clock.check()  # each part has the whole time limit to itself, but no further part begins after it
            if part not in made:
                made[part] = self._made(part, compile_part)
            return made[part]

        def may_be_empty(part: Grammar) -> bool:
            found = of(part)
            return not isinstance(found, UnsatisfiableGrammar) and bool(found[0].epoch.accepting[found[0].epoch.start])

        self.graph = part_graph(grammar, may_be_empty)
        for part in self.graph.parts:
            of(part)
        empty = {n for n, part in enumerate(self.graph.parts) if isinstance(made[part], UnsatisfiableGrammar)}
        if empty:
            all_parts = self.graph
            self.graph = without(all_parts, empty)
            if not self.graph.firsts:
                errors = [error for error in made.values() if isinstance(error, UnsatisfiableGrammar)]
                others = f"; parts without a text beside it: {len(errors) - 1}" if len(errors) > 1 else ""
                raise UnsatisfiableGrammar(f"{errors[0]}{others}")
        for part in self.graph.parts:
            found = of(part)
            assert isinstance(found, tuple)  # the others were left out
            self.automata.append(found[0])
            self.reports.append(found[1])
        self.has_items = [automaton.program.reads_whole_tokens for automaton in self.automata]
        self.reads_whole_tokens = any(self.has_items)

    def _load_kernels(self, grammar: Grammar) -> None:
        """Kernels compile once a machine, tables are made once a vocabulary: not counted as the grammar's time."""
        sieves_of(self.vocab)
        if needs_stack(grammar):
            entries.load("stack")
        if self.facts.single_bytes == ALL_BYTES:  # otherwise a schema is refused
            for part in leaves(grammar):
                if isinstance(part, JsonSchema):
                    tables_of(self.vocab, part.blanks_between, part.spelling or "any")

    def _made(self, part: Grammar, compile_part: Compile) -> tuple[Automaton, Report] | UnsatisfiableGrammar:
        try:
            automaton, report = compile_part(replace(part, max_tokens=None) if isinstance(part, Text) else part)
        except UnsatisfiableGrammar as error:
            named = UnsatisfiableGrammar(f"the part {part!r:.120} matches no text: {error}")
            if self.facts.single_bytes == ALL_BYTES:
                return named
            # The tokens that spell it may be missing, while tokens that cross its borders may spell it.
            raise named from None
        if automaton.program.named_texts:
            refuse_named_text(automaton.program, "beside a JsonSchema or Tokens")
        if not automaton.program.tokens_spell_all:
            raise UnsupportedFeature(
                f"the part {part!r:.120} beside a JsonSchema or Tokens, over a vocabulary that lacks tokens for some of its bytes: "
                "whether tokens can complete a text is not decided; use a tokenizer with all bytes"
            )
        return automaton, report

    def _refuse_too_few_tokens(self) -> None:
        for part, automaton, most in zip(self.graph.parts, self.automata, self.most_tokens, strict=True):
            if most is not None and (needed := self.rests.fewest_of(automaton)) > most:
                raise UnsatisfiableGrammar(
                    f"{part!r:.120}: {most} tokens may not be enough for its end; {needed} are known to be"
                )

    def text_of(self, token: int) -> bytes:
        """The bytes of a token that is text; b"" for others."""
        return self.vocab.token_bytes(token) if self.facts.is_text[token] else b""
