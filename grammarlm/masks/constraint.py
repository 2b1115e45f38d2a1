"""compile(): a grammar and a vocabulary become a constraint, which makes matchers."""

from __future__ import annotations

import logging
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

from grammarlm.collector import PATIENT
from grammarlm.errors import (
    GrammarError,
    LimitExceeded,
    TokenizerError,
    UnsupportedFeature,
    brief,
    check_type,
    suggesting,
)
from grammarlm.grammars.compose import Grammar, check_grammar
from grammarlm.grammars.generated import as_filled, as_generated
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lowering import lowered
from grammarlm.grammars.names import names_of, without_names
from grammarlm.kernels import entries
from grammarlm.masks.filters.matcher import FilteredMatcher
from grammarlm.masks.machines.registry import automaton_of
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.masks.runtime.sizes import check_size
from grammarlm.masks.saved import store
from grammarlm.masks.saved.snapshot import restore
from grammarlm.vocab.byte_vocabulary import byte_vocabulary
from grammarlm.vocab.vocabulary import Vocabulary

from .automaton import Automaton
from .compiled import Compiled
from .matcher import Matcher
from .messages.tool_errors import of_tool
from .report import Report

if TYPE_CHECKING:
    from grammarlm.masks.filters.canonical import Canonical
    from grammarlm.masks.filters.closed import ClosedTexts

    from .canvas.canvas import Canvas
    from .canvas.protocol import View
    from .messages.rules import Rules
    from .readings.ways import Ways


LOGGER = logging.getLogger("grammarlm.masks")
USUAL_LIMITS = Limits()


class Constraint(Compiled):
    """A compiled grammar, shared by any number of matchers and threads."""

    canvases = 0  # made so far: their tables stay

    def matcher(self, max_tokens: int | None = None) -> Matcher:
        """A new matcher at the start of a text; with `max_tokens` the text always ends within so many tokens, stop id
        not counted.

        ValueError where the text may need more.
        """
        program = self._automaton.program
        if max_tokens is None and self._canonical is None:
            return (program.matcher_class or Matcher)(self)
        return (program.filtered_class or FilteredMatcher)(self, max_tokens)

    def canvas(self, length: int, *, after: Matcher | None = None, room: int = 0) -> Canvas:
        """Exact answers about partly filled rows of `length` tokens, for models that fill masked positions in any order.

        `after`: a matcher that has read what precedes the row, and is left as it is; `room`: so many tokens may follow the row.
        The rows are those of `as_filled`. UnsupportedFeature where the grammar has no canvas.
        """
        from .canvas.canvas import Canvas, read_again  # imported on first use: most constraints have none

        self.canvases += 1
        filled = self.as_filled
        with PATIENT:
            before = after if after is None or filled is self else read_again(after, self, filled)
            return Canvas(filled, filled._view, length, before, room)

    @cached_property
    def _view(self) -> View:
        from .canvas.views import view_of

        return view_of(self)

    @cached_property
    def as_generated(self) -> Constraint:
        """The constraint for texts that a model writes: its schemas are natural and plain, unless they specify otherwise."""
        return self._spelled(as_generated(self.grammar))

    @property
    def as_filled(self) -> Constraint:
        """The constraint for canvases: its schemas have any white space and are plain, unless they specify otherwise."""
        return self._filled or self

    @cached_property
    def _filled(self) -> Constraint | None:
        """None where it is this one, which is not to keep itself."""
        found = self._spelled(as_filled(self.grammar))
        return None if found is self else found

    def _spelled(self, grammar: Grammar) -> Constraint:
        if grammar is self.grammar:
            return self
        return compile(grammar, self.vocab, limits=self.report.limits, canonical_only=self._canonical is not None)

    @cached_property
    def ways(self) -> Ways | None:
        """What a text is read back along: its named parts, its only schema, templates. None where there is nothing to be found."""
        from .readings.ways import Ways  # imported on first use: most texts have no parts

        names = names_of(lowered(self.grammar, self.vocab, Clock(self.report.limits).check))
        return None if names is None else Ways(names, self.vocab, self.report.limits)

    def _broken_rule(self, read: bytes, byte: int | None) -> str:
        return "" if self._rules is None else self._rules.broken(read, byte)

    @cached_property
    def _rules(self) -> Rules | None:
        """Of a schema alone."""
        from .messages.rules import Rules  # imported on first use: most constraints explain nothing

        limits = self.report.limits
        if not isinstance(self.grammar, JsonSchema):
            return None
        return Rules(self.grammar, lambda grammar: compile(grammar, byte_vocabulary(), limits=limits), limits)

    def texts(self) -> list[bytes]:
        """Every text of the grammar, sorted; UnsupportedFeature where they are more than 4,096, endless, or very long."""
        from grammarlm.masks.filters.closed import texts_of  # imported on first use: it loads kernels

        return texts_of(self._automaton)

    def restore(self, snapshot: bytes) -> Matcher:
        """The matcher of which `matcher.snapshot()` was taken, with its steps and its budget; GrammarError where it is damaged."""
        return restore(self, snapshot)

    def to_bytes(self) -> bytes:
        """What this was compiled from: grammar, limits, and the fingerprint of the vocabulary."""
        return store.save(self.grammar, self.vocab, self.report.limits, self._canonical is not None)

    @classmethod
    def from_bytes(cls, data: bytes, vocab: Vocabulary) -> Constraint:
        """Compiles what `to_bytes` saved, for the same vocabulary; GrammarError where the bytes are damaged."""
        check_type(vocab, Vocabulary, "from_bytes(data, vocab) takes a gl.Vocabulary")
        grammar, limits, canonical_only = store.load(data, vocab)
        return compile(grammar, vocab, limits=limits, canonical_only=canonical_only)

    def __repr__(self) -> str:
        return f"<Constraint {brief(self.grammar, 100)}, {self.vocab.size:,} tokens, {self.nbytes:,} bytes>"

    def __copy__(self) -> Constraint:
        return self

    def __deepcopy__(self, memo: object) -> Constraint:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what it was compiled from: unpickling compiles it again."""
        return Constraint.from_bytes, (self.to_bytes(), self.vocab)


@suggesting("compile")
def compile(
    grammar: Grammar, vocab: Vocabulary, *, limits: Limits | None = None, canonical_only: bool = False
) -> Constraint:
    """Checks everything that can be refused, and makes the first state; other states are made during decoding.

    `canonical_only`: of the token sequences that spell a text, only those that the tokenizer would produce. Where the
    grammar's texts are few that is exact (`report.canonical.texts`); elsewhere each token is compared with the one before it,
    and not all others are forbidden, see masks/filters/. For BPE tokenizers whose merges are available.

    Raises GrammarError (and its subclasses) only: the text is broken, a construct is not supported, nothing matches, a
    limit is reached.
    """
    check_grammar(grammar, "compile()")
    check_type(vocab, Vocabulary, "compile() takes a gl.Vocabulary", "see gl.Vocabulary.from_tokenizer")
    limits = USUAL_LIMITS if limits is None else limits
    check_type(limits, Limits, "compile(limits=...) takes a gl.Limits", "e.g. gl.Limits(max_ms=500)")
    if not isinstance(canonical_only, bool):
        raise TypeError(f"compile(canonical_only=...) takes True or False, not {brief(canonical_only)}")
    check_size(grammar, limits)
    canonical = _canonical_tokens(vocab) if canonical_only else None
    entries.load("masks")  # the kernels: now, and not in the middle of a text
    start = perf_counter()
    try:
        with PATIENT:
            full = lowered(grammar, vocab, Clock(limits).check)
            names_of(full)  # raises where what a name stands for cannot be read back
            plain = without_names(full)
            if plain is not grammar:
                check_size(plain, limits)
            automaton, report = automaton_of(plain, vocab, limits, canonical_only)
            closed = None if canonical is None else _closed_texts(automaton, report, canonical)
    except RecursionError:
        raise LimitExceeded("the grammar is nested too deeply for this process's recursion limit; flatten it") from None
    except GrammarError as refusal:

        def again(part: Grammar) -> object:
            return automaton_of(lowered(part, vocab, Clock(limits).check), vocab, limits, canonical_only)

        error = of_tool(grammar, refusal, again)
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info("refused %s: %s: %s", brief(grammar, 100), type(error).__name__, error)
        if error is refusal:
            raise
        raise error from None
    if LOGGER.isEnabledFor(logging.DEBUG):
        LOGGER.debug("compiled %s in %.2f ms", brief(grammar, 100), (perf_counter() - start) * 1e3)
    return Constraint(automaton, report, grammar, canonical, closed)


def _canonical_tokens(vocab: Vocabulary) -> Canonical:
    from grammarlm.masks.filters.canonical import canonical_of  # imported on first use: it loads kernels

    try:
        return canonical_of(vocab)
    except TokenizerError as error:
        raise UnsupportedFeature(f"canonical_only=True is not supported for this tokenizer: {error}") from None


def _closed_texts(automaton: Automaton, report: Report, canonical: Canonical) -> ClosedTexts | None:
    from grammarlm.masks.filters.closed import closed_texts  # imported on first use: it loads kernels

    found = closed_texts(automaton, canonical)
    if found is not None and report.canonical is not None:
        report.canonical.texts = found.count
    return found
