"""Sequences of actions that satisfy a rule over time.

    Ltl("G !stop & F home", {"go": "moving", "wait": (), "stop": "stop", "dock": ("home", "moving")})
    Ltl('!"open door" U knock', ["knock", "open door", "enter"])

A text is one action or more, with the separator between them; its i-th action is the i-th position of a finite trace. Each action
has propositions; in a list each text is the only one of its own. The formula (formulas.py) must hold at the first position.

Where a text stands between two actions is a state of the formula (states.py); its terms are made as texts come to it, so that a
rule over twenty actions with a million states costs no more than the texts that are read. It is a regular language like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grammarlm.errors import GrammarError, UnsatisfiableGrammar, UnsupportedFeature, brief, check_type, suggesting
from grammarlm.grammars.capture import Capture
from grammarlm.grammars.cfg.assembly import needs_stack
from grammarlm.grammars.compose import Grammar, Literal, as_grammar, encode
from grammarlm.grammars.derived import Derived
from grammarlm.grammars.part_graph import is_apart
from grammarlm.grammars.regular.byte_classes import byte_sets
from grammarlm.grammars.regular.derivatives import EVERY_BYTE, Algebra, EdgeList
from grammarlm.grammars.regular.terms import ANYTHING, NIL, NOTHING, Source, Term

from .canonical import canonical_form
from .formulas import Formula, Formulas
from .states import Letter, State, States

Actions = Mapping[Any, str | Iterable[str]] | Iterable[Any]  # {text or grammar: propositions}, or texts
Action = tuple[Grammar, tuple[str, ...]]  # its texts, its propositions
SHOWN = 8  # propositions in an error


@dataclass(frozen=True, init=False, repr=False)
class Ltl(Grammar):
    """Texts of actions, with `separator` between them, for which a formula of linear temporal logic on finite traces holds.

    `actions`: a mapping from texts (or regular grammars) to their propositions, one or several or (), or a list of texts, each of
    which is its own proposition. `canonical` needs none. Formulas: names and "quoted texts", true, false, last, ! & | -> <->, X (at
    the next action, which there is), N (at the next action, if there is one), F, G, U, R, W.
    """

    formula: str
    actions: tuple[tuple[Grammar, tuple[str, ...]], ...] | None
    separator: str

    @suggesting("Ltl")
    def __init__(self, formula: str, actions: Actions | None = None, separator: str = "\n"):
        check_type(formula, str, "Ltl(formula) takes a formula as a string")
        check_type(separator, str, "Ltl(separator=...) takes a string")
        object.__setattr__(self, "formula", formula)
        object.__setattr__(self, "actions", None if actions is None else _read_actions(actions))
        object.__setattr__(self, "separator", separator)

    def __repr__(self) -> str:
        given = "" if self.actions is None else f", {len(self.actions):,} actions"
        between = "" if self.separator == "\n" else f", separator={brief(self.separator, 40)}"
        return f"Ltl({brief(self.formula, 100)}{given}{between})"

    @property
    def operands(self) -> tuple[Grammar, ...]:
        return tuple(grammar for grammar, _ in self.actions or ())

    def with_operands(self, operands: tuple[Grammar, ...]) -> Grammar:
        names = [propositions for _, propositions in self.actions or ()]
        return Ltl(self.formula, tuple(zip(operands, names, strict=True)), self.separator)

    @cached_property
    def canonical(self) -> str:
        """The minimal automaton of the formula, numbered: equal for two formulas iff they allow the same sequences of the actions.

        Without actions: of all valuations of the propositions, of which there may be ten.
        """
        formulas = Formulas()
        formula = formulas.read(self.formula)
        if self.actions is None:
            return canonical_form(formulas, formula, None)
        self._check_names(formulas)
        letters = [(_name(grammar), frozenset(names)) for grammar, names in self.actions]
        return canonical_form(formulas, formula, sorted(letters, key=lambda pair: pair[0]))

    def language(self, algebra: Algebra) -> Term:
        formulas = Formulas()
        formula = formulas.read(self.formula)
        if self.actions is None:
            raise GrammarError(f"{self!r:.200} has no actions, so it has no texts: write Ltl(formula, actions=[...])")
        if not self.actions:
            raise GrammarError(f"{self!r:.200}: actions is empty; a text is one action or more, so give at least one")
        self._check_names(formulas)
        texts = _Texts(self, algebra)
        source = LtlStates(formulas, texts, algebra)
        return source.begin(formula, self)

    def _check_names(self, formulas: Formulas) -> None:
        known = {name for _, names in self.actions or () for name in names}
        for name in formulas.propositions:
            if name not in known:
                some = ", ".join(f"{each!r:.40}" for each in sorted(known)[:SHOWN]) or "none"
                more = ", ..." if len(known) > SHOWN else ""
                raise GrammarError(
                    f"{self!r:.160}: no action has the proposition {name!r:.60}; those of the actions are {some}{more}. "
                    "Give it to an action, or leave it out"
                )


class _Texts:
    """The actions as terms, and what may stand between them; refused where a text could be cut into actions in two ways."""

    def __init__(self, grammar: Ltl, algebra: Algebra):
        assert grammar.actions is not None
        self.algebra, self._shown = algebra, repr(grammar)[:120]
        if not grammar.separator:
            raise GrammarError(
                f"{self._shown}: separator is empty, so that it is not known where an action ends; use '\\n'"
            )
        self.mark, self.separator = grammar.separator, algebra.word(encode(grammar.separator))
        self.actions = grammar.actions
        words = [encode(text.text) for text, _ in self.actions if isinstance(text, Literal)]
        self._check_words(words, grammar.separator)
        self.terms = [text.language(algebra) for text, _ in self.actions]
        others = [
            (text, term)
            for (text, _), term in zip(self.actions, self.terms, strict=True)
            if not isinstance(text, Literal)
        ]
        self._check_others(others, words)

    def _check_words(self, words: list[bytes], separator: str) -> None:
        seen, mark = set[bytes](), encode(separator)
        for word in words:
            shown = f"{word.decode()!r:.60}"
            if not word:
                raise GrammarError(f"{self._shown}: an action is the empty text; give it a text, such as 'wait'")
            if word in seen:
                raise GrammarError(
                    f"{self._shown}: the action {shown} is given twice; give it once, with all propositions"
                )
            if (word + mark).find(mark) < len(word):
                raise self._holds_mark(shown)
            seen.add(word)

    def _check_others(self, others: list[tuple[Grammar, Term]], words: list[bytes]) -> None:
        algebra = self.algebra
        anything = algebra.chars(((EVERY_BYTE, None),))
        early = algebra.sequence([ANYTHING, self.separator, anything, ANYTHING])
        before = [algebra.words(words)] if words else []
        for text, term in others:
            shown = f"{text!r:.80}"
            if term.nullable or not self._has_text(term):
                kind = "may be the empty text" if term.nullable else "has no text"
                raise GrammarError(f"{self._shown}: the action {shown} {kind}; an action is one or more characters")
            if self._has_text(algebra.both([algebra.cat(term, self.separator), early])):
                raise self._holds_mark(shown)
            if self._has_text(algebra.both([term, algebra.alt(before)])):
                raise GrammarError(
                    f"{self._shown}: the action {shown} overlaps with another one: some text is both; take it away from one, a - b"
                )
            before.append(term)

    def _holds_mark(self, shown: str) -> GrammarError:
        return GrammarError(
            f"{self._shown}: the action {shown} holds the separator, or its end and the separator do, so that a text could be "
            "cut in two ways; choose another separator"
        )

    def _has_text(self, term: Term) -> bool:
        return self._text_of(term, is_any=True) is not None

    def shortest(self, number: int) -> bytes:
        """The shortest text of an action."""
        text = self.actions[number][0]
        if isinstance(text, Literal):
            return encode(text.text)
        found = self._text_of(self.terms[number], is_any=False)
        assert found is not None  # it was looked for before
        return found

    def _text_of(self, term: Term, is_any: bool) -> bytes | None:
        """The shortest text of a term; `is_any`: a beginning of one is enough. None where it has none."""
        seen, level = {term}, [(term, b"")]
        while level:
            following: list[tuple[Term, bytes]] = []
            for here, data in level:
                if here.nullable or (is_any and here.sure):
                    return data
                self.algebra.tick()
                for bits, target in self.algebra.edges(here):
                    if target not in seen:
                        seen.add(target)
                        following.append((target, data + bytes([(bits & -bits).bit_length() - 1])))
            level = following
        return None


class LtlStates(Source):
    """The states between actions as terms: a key is what the next actions must satisfy; there is one at least."""

    def __init__(self, formulas: Formulas, texts: _Texts, algebra: Algebra):
        used = frozenset(formulas.propositions)
        groups: dict[Letter, list[int]] = {}
        for number, (_, names) in enumerate(texts.actions):
            groups.setdefault(frozenset(names) & used, []).append(number)
        self._texts, self._groups = texts, list(groups.values())
        self._states = States(formulas, list(groups), algebra.tick)
        self._terms: dict[tuple[int, ...], Term] = {}  # by letters
        self._shortest_of: dict[int, bytes] = {}

    def begin(self, formula: Formula, grammar: Ltl) -> Term:
        state = self._states.begin(formula)
        if not self._states.goes_on(state):
            raise UnsatisfiableGrammar(
                f"{grammar!r:.200}: no sequence of these actions satisfies the formula; weaken it, or give an action other "
                "propositions"
            )
        return self._texts.algebra.lazy(self, state)

    def accepts(self, key: State) -> bool:
        return False

    def edges(self, algebra: Algebra, key: State) -> EdgeList:
        by_target: dict[State, list[int]] = {}
        for letter in range(len(self._groups)):
            by_target.setdefault(self._states.after(key, letter), []).append(letter)
        ways = [
            algebra.cat(self._actions(algebra, tuple(letters)), rest)
            for state, letters in by_target.items()
            if (rest := self._rest(algebra, state)) is not NOTHING
        ]
        return algebra.edges(algebra.alt(ways))

    def _rest(self, algebra: Algebra, state: State) -> Term:
        """What may follow an action."""
        ways = [NIL] if self._states.accepts(state) else []
        if self._states.goes_on(state):
            ways.append(algebra.cat(self._texts.separator, algebra.lazy(self, state)))
        return algebra.alt(ways)

    def _actions(self, algebra: Algebra, letters: tuple[int, ...]) -> Term:
        found = self._terms.get(letters)
        if found is None:
            numbers = [number for letter in letters for number in self._groups[letter]]
            texts = [self._texts.actions[number][0] for number in numbers]
            words = [encode(text.text) for text in texts if isinstance(text, Literal)]
            others = [
                self._texts.terms[n] for n, text in zip(numbers, texts, strict=True) if not isinstance(text, Literal)
            ]
            found = self._terms[letters] = algebra.alt([*([algebra.words(words)] if words else []), *others])
        return found

    def end(self, key: State) -> bytes:
        separator: bytes = encode(self._texts.mark)
        return separator.join(map(self._shortest, self._states.plan(key)))

    def floor(self, key: State) -> int:
        return min(len(self._shortest(letter)) for letter in range(len(self._groups)))

    def _shortest(self, letter: int) -> bytes:
        """The shortest action with these propositions."""
        found = self._shortest_of.get(letter)
        if found is None:
            texts = [self._texts.shortest(number) for number in self._groups[letter]]
            found = self._shortest_of[letter] = min(texts, key=lambda data: (len(data), data))
        return found

    def byte_sets(self, key: State) -> Iterable[int]:
        return byte_sets([self._texts.separator, *self._texts.terms], ())


def _read_actions(actions: Any) -> tuple[Action, ...]:
    """Pairs of a grammar and propositions, of what `actions` may be; TypeError or UnsupportedFeature where it is nothing of it."""
    if isinstance(actions, Mapping):
        pairs = list(actions.items())
    elif isinstance(actions, (str, bytes)) or not isinstance(actions, Iterable):
        raise TypeError(
            f"Ltl(actions=...) takes a mapping from texts to propositions or a list of texts, not {type(actions).__name__}"
        )
    else:
        pairs = [(each, each) if isinstance(each, str) else each for each in actions]
    found = []
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Ltl(actions=...): number {number} is {pair!r:.80}; a list holds texts: for grammars and propositions of "
                "your own give a mapping, {action: propositions}"
            )
        text = as_grammar(pair[0], "Ltl(actions=...)")
        _check_regular(text)
        found.append((text, _propositions(pair[1], number)))
    return tuple(found)


def _propositions(names: Any, number: int) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) else names
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(
            f"Ltl(actions=...): action {number} has {given!r:.60} as propositions; give a name, several, or ()"
        )
    found = tuple(given)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"Ltl(actions=...): action {number} has the proposition {name!r:.60}; it takes a string")
    return found


def _check_regular(grammar: Grammar) -> None:
    waiting = [grammar]
    while waiting:
        part = waiting.pop()
        is_leaf = not part.operands
        if isinstance(part, Capture) or (
            is_leaf and (needs_stack(part) or is_apart(part) or isinstance(part, Derived))
        ):
            raise UnsupportedFeature(
                f"Ltl(actions=...): the action {grammar!r:.120} holds {part!r:.120}; an action is a text, or a "
                "regular grammar such as gl.Regex and gl.Choices"
            )
        waiting += part.operands


def _name(action: Grammar) -> str:
    return action.text if isinstance(action, Literal) else repr(action)
