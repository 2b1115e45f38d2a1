"""Stock lark as the meaning of a Lark grammar: which texts it accepts, and what it says about beginnings of texts.

The parser is LALR with its contextual lexer where lark can build it, otherwise Earley with its dynamic lexer.

Lark says nothing about beginnings, so they are judged from two sides. A completion that lark accepts proves that a
beginning is viable. The grammar without a lexer (each terminal any text that its pattern matches, ignored texts
before each and at the end) has every text that lark accepts and more; what not even that can complete is dead. A
beginning with neither proof is "unknown".
"""

import random
import re
from dataclasses import dataclass
from functools import cached_property

import lark
from lark.exceptions import GrammarError, UnexpectedInput

from grammarlm.grammars.cfg.rules import Alternatives, Call, Node, Pattern, Repeat, Rules, Sequence, Text
from tests.oracles.automata import TooManyStates
from tests.oracles.cfg_oracle import CfgOracle, Column, ShortestTexts
from tests.oracles.regex_oracle import UnreadablePattern

# A pattern that may look beyond its own text matches there what it does not match alone.
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[bBAZ]|(?<!\[)\^|\$")
_IGNORED = "ignored"


def lexerless(parser: lark.Lark, start: str) -> CfgOracle | None:
    """All texts that lark may accept, and more; None where a pattern looks around or is too large."""
    patterns = {terminal.name: terminal.pattern.to_regexp() for terminal in parser.terminals}
    if any(_LOOKS_AROUND.search(pattern) for pattern in patterns.values()):
        return None
    alternatives: dict[str, list[Node]] = {}
    for rule in parser.rules:
        parts = [Call(f"{'terminal' if symbol.is_term else 'rule'} {symbol.name}", 0) for symbol in rule.expansion]
        alternatives.setdefault(f"rule {rule.origin.name}", []).append(Sequence(tuple(parts)))
    bodies: dict[str, Node] = {name: Alternatives(tuple(parts)) for name, parts in alternatives.items()}
    for name, pattern in patterns.items():
        bodies[f"text {name}"] = Pattern(f"(?u){pattern}", 0)
        bodies[f"terminal {name}"] = Sequence((Call(_IGNORED, 0), Call(f"text {name}", 0)))
    ignored = Alternatives(tuple(Call(f"text {name}", 0) for name in parser.ignore_tokens))
    bodies[_IGNORED] = Repeat(ignored, 0, None) if parser.ignore_tokens else Text(b"")
    bodies["all"] = Sequence((Call(f"rule {start}", 0), Call(_IGNORED, 0)))
    try:
        return CfgOracle(Rules("all", bodies))
    except (TooManyStates, UnreadablePattern):
        return None


@dataclass(frozen=True)
class Beginnings:
    """What is known after all texts up to `longest` were tried; `completion` bounds the shortest completion, if known."""

    found: frozenset[str]
    superset: CfgOracle | None
    longest: int
    completion: int | None

    def verdict(self, beginning: str) -> str:
        """ "viable", "dead" or "unknown": never dead for a beginning whose completions may be longer than was tried."""
        if beginning in self.found:
            return "viable"
        if self.superset is not None and not self.superset.is_viable(beginning.encode()):
            return "dead"
        surely_tried = self.completion is not None and len(beginning) + self.completion <= self.longest
        return "dead" if surely_tried else "unknown"


class LarkOracle:
    """One grammar. GrammarError and the like of lark's come through where it can build neither parser."""

    def __init__(self, grammar: str, start: str = "start"):
        try:
            self.parser = lark.Lark(grammar, start=start, parser="lalr", lexer="contextual")
            self.route = "lalr"
        except GrammarError:
            self.parser = lark.Lark(grammar, start=start, parser="earley", lexer="dynamic", ambiguity="forest")
            self.route = "earley"
        self._start = start
        self._accepted: dict[str, bool] = {}

    @cached_property
    def superset(self) -> CfgOracle | None:
        return lexerless(self.parser, self._start)

    def accepts(self, text: str) -> bool:
        if text not in self._accepted:
            self._accepted[text] = self._parses(text)
        return self._accepted[text]

    def _parses(self, text: str) -> bool:
        try:
            self.parser.parse(text)
        except UnexpectedInput:
            return False
        except RuntimeError as error:
            # Raised where the whole text was recognised twice, with and without the ignored text at its end.
            if "multiple start symbol items" not in str(error):
                raise
        return True

    def enumerate_language(self, alphabet: str, max_length: int) -> set[str]:
        """All texts over the alphabet, up to a length, that lark accepts; every one that may be is tried."""
        queue, found = [""], set()
        for text in queue:
            found |= {text} if self.accepts(text) else set()
            if len(text) < max_length:
                longer = [text + character for character in alphabet]
                queue += [each for each in longer if self.superset is None or self.superset.is_viable(each.encode())]
        return found

    def prefixes(self, alphabet: str, max_length: int, completion: int | None = None) -> Beginnings:
        """Judges beginnings over the alphabet. `completion`: no viable one needs more characters than that, and all
        that it needs are of the alphabet; None where that is not known."""
        texts = self.enumerate_language(alphabet, max_length)
        found = frozenset(text[:end] for text in texts for end in range(len(text) + 1))
        return Beginnings(found, self.superset, max_length, completion)


class Witnesses:
    """Judges beginnings in bytes, of any length, by looking for completions over an alphabet."""

    def __init__(self, oracle: LarkOracle, alphabet: str, rng: random.Random, tries: int = 60):
        assert oracle.superset is not None, "completions are looked for where the grammar without a lexer has them"
        self.oracle = oracle
        self._superset = oracle.superset
        self._characters = [character.encode() for character in alphabet]
        # A beginning may be cut inside a character of no alphabet; then any bytes will do to finish it.
        familiar = {byte for data in self._characters for byte in data}
        self._shortest = [ShortestTexts(oracle.superset, events) for events in (familiar, range(256))]
        self._rng = rng
        self._tries = tries
        self._known: dict[bytes, str] = {}

    def verdict(self, beginning: bytes) -> str:
        """ "viable" (a completion is accepted), "dead" (none can be) or "unknown"."""
        if beginning not in self._known:
            state = self._superset.read(self._superset.start, beginning)
            if state is None:
                self._known[beginning] = "dead"
            else:
                self._known[beginning] = "unknown" if self.witness(beginning) is None else "viable"
        return self._known[beginning]

    def witness(self, beginning: bytes) -> str | None:
        """A text that lark accepts and that begins so: some characters at random, then the shortest way to an end."""
        state = self._superset.read(self._superset.start, beginning)
        for attempt in range(self._tries if state is not None else 0):
            text, at = self._some_characters(beginning, state, attempt // 4)
            completions = (shortest.completion(at) for shortest in self._shortest)
            completion = next((each for each in completions if each is not None), None)
            assert completion is not None, "a viable state has a completion in bytes"
            found = (text + bytes(completion)).decode()
            if self.oracle.accepts(found):
                return found
        return None

    def _some_characters(self, text: bytes, state: Column | None, count: int) -> tuple[bytes, Column | None]:
        for _ in range(self._rng.randint(0, count)):
            for data in self._rng.sample(self._characters, len(self._characters)):
                following = self._superset.read(state, data)
                if following is not None:
                    text, state = text + data, following
                    break
            else:
                break
        return text, state


class Sentences:
    """Random texts of a grammar: a derivation of lark's own rules, each terminal one of its short texts."""

    def __init__(self, oracle: LarkOracle, alphabet: str, start: str = "start"):
        self._start = start
        self._expansions: dict[str, list[list[tuple[bool, str]]]] = {}
        for rule in oracle.parser.rules:
            symbols = [(symbol.is_term, str(symbol.name)) for symbol in rule.expansion]
            self._expansions.setdefault(str(rule.origin.name), []).append(symbols)
        self._samples = {str(t.name): _short_texts(t.pattern, alphabet) for t in oracle.parser.terminals}
        self._ignored = [text for name in oracle.parser.ignore_tokens for text in self._samples[str(name)]] or [""]
        self._costs: dict[str, int] = {}
        self._measure()

    def _measure(self) -> None:
        """The number of terminals that a rule has at least; a rule without any text has no entry."""
        changed = True
        while changed:
            changed = False
            for name, expansions in self._expansions.items():
                costs = [cost for cost in map(self._cost, expansions) if cost is not None]
                if costs and min(costs) < self._costs.get(name, 1 << 30):
                    self._costs[name] = min(costs)
                    changed = True

    def _cost(self, expansion: list[tuple[bool, str]]) -> int | None:
        total = 0
        for is_terminal, name in expansion:
            cost = (1 if self._samples[name] else None) if is_terminal else self._costs.get(name)
            if cost is None:
                return None
            total += cost + 1
        return total

    def sentence(self, rng: random.Random, budget: int = 12, spaced: float = 0.3) -> str | None:
        """A text, with ignored ones between its lexemes now and then; None where the grammar has none to offer."""
        if self._start not in self._costs:
            return None
        pieces: list[str] = []
        stack: list[tuple[bool, str]] = [(False, self._start)]
        while stack:
            is_terminal, name = stack.pop()
            if is_terminal:
                pieces += [rng.choice(self._ignored)] if rng.random() < spaced else []
                pieces.append(rng.choice(self._samples[name]))
                continue
            costs = [(self._cost(expansion), place) for place, expansion in enumerate(self._expansions[name])]
            open_ends = [(cost, place) for cost, place in costs if cost is not None]
            budget -= 1
            place = rng.choice(open_ends)[1] if budget > 0 else min(open_ends)[1]
            stack += reversed(self._expansions[name][place])
        return "".join(pieces) + (rng.choice(self._ignored) if rng.random() < spaced / 2 else "")


def _short_texts(pattern: lark.lexer.Pattern, alphabet: str, longest: int = 3) -> list[str]:
    """What a terminal matches as a whole: its string, or all texts of a few characters."""
    if isinstance(pattern, lark.lexer.PatternStr):
        value = pattern.value
        return [value, value.upper(), value.lower()] if "i" in pattern.flags else [value]
    compiled, texts = re.compile(pattern.to_regexp()), [""]
    for text in texts:
        texts += [text + character for character in alphabet] if len(text) < longest else []
    return [text for text in texts if text and compiled.fullmatch(text)]
