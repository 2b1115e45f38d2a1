"""From a JSON schema to an automaton over a vocabulary.

The schema is compiled to nodes (grammars/json_schema/nodes/normalise.py), nodes to the rows of a program (program.py), next
to tables of the vocabulary that all schemas share (tables.py). A schema is refused only here; filling a mask can fail
only at a limit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from grammarlm.errors import UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.normalise import advised, next_to_relax, normalise
from grammarlm.grammars.json_schema.numbers.plans import CAPS
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.report import KeywordReport, keyword_reports, refuse_unknown
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.json_schema.strings.formats import SHARED
from grammarlm.grammars.json_schema.strings.text_algebra import TextAlgebra
from grammarlm.grammars.json_schema.types.python_types import INTEGER_DIGITS
from grammarlm.masks.automaton import Automaton
from grammarlm.masks.machines.json.budgets.costs import JsonCosts, SchemaBounds
from grammarlm.masks.machines.json.configs import Config
from grammarlm.masks.machines.json.distinct.costs import DistinctCosts
from grammarlm.masks.machines.json.distinct.epoch import DistinctEpoch
from grammarlm.masks.machines.json.distinct.program import DistinctProgram
from grammarlm.masks.machines.json.endings.texts import SpelledCompletions
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.machines.json.languages import LanguageStates, SchemaLanguages
from grammarlm.masks.machines.json.matcher import FilteredJsonMatcher, JsonMatcher
from grammarlm.masks.machines.json.program import JsonProgram
from grammarlm.masks.machines.json.vocabulary.blanks import blanks_of
from grammarlm.masks.machines.json.vocabulary.tables import JsonTables
from grammarlm.masks.protocol import ProgramDefaults
from grammarlm.masks.report import CanonicalReport, Report
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.shared_lock import PROGRAM, shared_lock
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

from .plain import plain_start
from .program import ProgramWriter

ANY_ORDER, SCHEMA_ORDER = 0, 1
NUMBER_CAPS = (
    f"numbers: at most {CAPS.digits} significant digits, {CAPS.zeros} zeros before them and {CAPS.exponent_digits} digits of an "
    "exponent, which follows a single digit before the point where a number is bounded (but by 0), a multiple or an integer; 0, or "
    "from 2.5e-324 to 1.7976931348623158e308, what readers of doubles take; more where the schema names more"
)
PLAIN_STRINGS = "strings: only the escapes that JSON needs, as json.dumps(ensure_ascii=False) writes them"
PLAIN_NUMBERS = (
    "numbers as json.dumps writes them: integers in digits; others as Python's repr of floats, or in digits, a whole number too "
    'where no integer is asked for (1 and 1.0); single values in digits, and as a float too where it is written so ("const": 1.0)'
)
PLAIN_INTEGERS = "integers: plain digits, without fraction or exponent"
PYTHON_INTEGERS = f"; of a Python type at most {INTEGER_DIGITS} of them, where its bounds do not ask for more"


@functools.lru_cache(maxsize=8)
def tables_of(vocab: Vocabulary, whitespace: str, spelling: str) -> JsonTables:
    return JsonTables(vocab, blanks_of(whitespace), spelling)


class JsonSchemaProgram(ProgramDefaults):
    """What all texts under a schema have in common."""

    matcher_class, filtered_class = JsonMatcher, FilteredJsonMatcher
    spelled: SpelledCompletions | None = None

    def __init__(self, grammar: JsonSchema, vocab: Vocabulary, limits: Limits, clock: Clock):
        self.vocab, self.limits, self.clock = vocab, limits, clock
        self.facts = token_facts(vocab)
        self.lock = shared_lock(PROGRAM)
        self.start: Config = ((0, 0, 0, (), b"start"),)  # found by identity
        self.tokens_spell_all = True
        if self.facts.single_bytes != (1 << 256) - 1:
            _check_bytes(self.facts.single_bytes)
        self.tables = tables_of(vocab, grammar.blanks_between, grammar.spelling or "any")
        # Kernels compile once a machine, the tables are made once a vocabulary: not counted as the schema's time.
        clock.begin_compile()
        self.mode = ANY_ORDER if grammar.property_order == "any" else SCHEMA_ORDER
        self.relaxed: tuple[str, ...] = ()
        self.bounds = SchemaBounds()
        self.costs_class = functools.partial(JsonCosts, self.bounds)
        self.ceilings: dict[int, int] = {}  # by state of a language: see endings/languages.py
        self._grammar = grammar
        try:
            self.json = self._written(grammar)
        except UnsupportedFeature as refusal:
            raise advised(refusal, self.document, grammar.strict) from None
        if grammar.unknown == "refuse":
            refuse_unknown(self.document)
        if self.json.start < 0:
            raise UnsatisfiableGrammar("#: no JSON value is valid under the schema", pointer="")
        self.caps: tuple[str, ...] = (self.tables.blanks.description, NUMBER_CAPS)
        if grammar.spelling == "plain":
            self.caps += (PLAIN_STRINGS, PLAIN_NUMBERS)
        if grammar.integers == "plain":
            self.caps += (PLAIN_INTEGERS + (PYTHON_INTEGERS if grammar.python_type is not None else ""),)

    def _written(self, grammar: JsonSchema) -> JsonProgram:
        """The schema's rows: of a plain one directly, else by way of its normal form."""
        plain = self._of_plain(grammar)
        if plain is not None:
            return plain
        tick = self.clock.tick
        schema, options = grammar.document(tick), self._options
        while True:
            writer = self._writer(grammar)  # the previous writer may be half used
            languages, strict = self.texts.languages, grammar.strict
            found = normalise(schema, languages=languages, tick=tick, strict=strict, relax=self.relaxed, **options)
            self.document, self.relaxed = found.document, found.relaxed
            try:
                return writer.write(found.root)
            except UnsupportedFeature as refusal:
                pointer = None if strict else next_to_relax(refusal, found.document, found.relaxed)
                if pointer is None:
                    raise
                self.relaxed = (*found.relaxed, pointer)

    def _of_plain(self, grammar: JsonSchema) -> JsonProgram | None:
        """None where the schema is not plain."""
        writer = self._writer(grammar)
        try:
            start = plain_start(writer, self.document, self.clock.tick)
            return None if start is None else writer.finish(start)
        except UnsupportedFeature:
            if grammar.strict:
                raise
            return None

    @property
    def _options(self) -> dict[str, Any]:
        grammar = self._grammar
        return {
            "registry": grammar.registry,
            "draft": grammar.draft,
            "formats": grammar.formats,
            "integers": grammar.integers,
        }

    @functools.cached_property
    def document(self) -> Document:
        """The schema with its references, read on first use."""
        return self._read(self.clock.tick)

    def _read(self, tick: Callable[[], None]) -> Document:
        return Document(self._grammar.document(tick), tick=tick, **self._options)

    def keyword_reports(self, once: bool = False) -> Iterator[KeywordReport]:
        """For a report, whenever it is read, with a clock of its own: that of the program is its matchers'."""
        tick = Clock(self.limits).tick
        if "document" not in vars(self):
            self.document = self._read(tick)
        self.document.tick = tick
        return keyword_reports(self.document, self.relaxed, once)

    def _new_texts(self) -> SchemaLanguages:
        limits, tick = self.limits, self.clock.tick
        return SchemaLanguages(lambda: TextAlgebra(limits.max_depth, tick, SHARED, limits.max_bytes), limits.max_states)

    def _writer(self, grammar: JsonSchema) -> ProgramWriter:
        self.texts = self._new_texts()
        order = grammar.property_order
        return ProgramWriter(self.texts, self.tables, order if isinstance(order, tuple) else ())

    @property
    def states(self) -> LanguageStates:
        return self.texts.made_states


def _check_bytes(single: int) -> None:
    missing = [b for b in range(256) if not single >> b & 1 and b not in (0xC0, 0xC1) and b < 0xF5]
    missing = [b for b in missing if b >= 0x20 or b in (9, 10, 13)]
    if missing:
        raise UnsupportedFeature(
            f"JsonSchema over a vocabulary without tokens for {len(missing)} single bytes (the first is 0x{missing[0]:02X}): "
            "whether its tokens can complete a text is not decided; use a tokenizer with all bytes"
        )


def json_automaton(
    grammar: JsonSchema, vocab: Vocabulary, limits: Limits, canonical_only: bool
) -> tuple[Automaton, Report]:
    program = JsonSchemaProgram(grammar, vocab, limits, Clock(limits))
    relaxed = program.relaxed
    report = Report(
        "JsonSchema", limits, 256, True, relaxed=relaxed, caps=program.caps,
        canonical=CanonicalReport() if canonical_only else None,
        keywords=program.keyword_reports,
    )  # fmt: skip
    if program.json.tracked:
        return Automaton(
            DistinctProgram(program, functools.partial(DistinctCosts, program.bounds)), DistinctEpoch
        ), report
    return Automaton(program, JsonEpoch), report
