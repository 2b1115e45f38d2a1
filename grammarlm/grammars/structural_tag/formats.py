"""What each format of a structural tag stands for, as other grammars.

    {"type": "sequence", "elements": [a, b]}                      a + b; likewise or, optional, star, plus, repeat
    {"type": "tag", "begin": "<a>", "content": c, "end": "</a>"}  "<a>" + c + "</a>"
    {"type": "any_text", "excludes": ["x"]}                       Text(excludes=["x"])
    {"type": "triggered_tags", "triggers": [...], ...}            text and tags in turns: dispatch.py

Free text inside a tag does not contain the end of that tag, of the nearest one that it stands in. Objects of a `json_schema` have
the properties that are declared, unless it declares none or says otherwise: so the senders of structural tags mean them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any

from grammarlm.errors import GrammarError, LimitExceeded, UnsupportedFeature, brief, placed_error
from grammarlm.grammars.compose import Grammar, Literal
from grammarlm.grammars.derived import Specials, sequence
from grammarlm.grammars.ebnf.ebnf import Ebnf
from grammarlm.grammars.ebnf.macros import python_pattern
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.items.tokens_by_name import TokensByName
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lark.grammar import Lark
from grammarlm.grammars.regular.regex import Regex
from grammarlm.grammars.repeat import MOST, Repeat
from grammarlm.grammars.text import Ban, Text
from grammarlm.grammars.tools.texts import one_of

from .dispatch import Rule, dispatched, in_turns, rule_of
from .fields import FORMATS, read, wrong
from .styles import ELEMENTS, STYLES, entries_of
from .without import without_texts

DEEPEST = 100  # formats within each other


@dataclass(frozen=True)
class Ends:
    """The ends of the nearest tag around a format: the strings, or the tokens."""

    texts: tuple[str, ...] = ()
    tokens: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Tag:
    """A tag: its begin as given and as a grammar, and what follows it."""

    at: str
    begin: str | int
    is_token: bool  # that begins it
    opening: Grammar
    body: Grammar

    @property
    def whole(self) -> Grammar:
        return sequence([self.opening, self.body])


class Formats:
    """Reads formats, for one vocabulary."""

    def __init__(self, specials: Specials):
        self.specials, self.tokens = specials, TokensByName(specials.vocab)
        self._depth = 0

    def of(self, value: Any, at: str, ends: Ends = Ends()) -> Grammar:
        """The grammar of the format at a pointer."""
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in FORMATS:
            raise wrong(f"{brief(kind)} is no type of a format; there are {', '.join(FORMATS)}", f"{at}/type")
        if self._depth == DEEPEST:
            raise LimitExceeded(f"the structural tag has more than {DEEPEST} formats within each other; flatten it")
        self._depth += 1
        self.specials.tick()
        given = self._fields(value, at, kind)
        given.ends = ends
        found: Grammar = getattr(self, f"_{kind}")(given)
        self._depth -= 1
        return found

    def older(self, given: SimpleNamespace) -> Grammar:
        """Structures and triggers: text, and tags with schemas."""
        tags = []
        for number, structure in enumerate(given.structures):
            each = read(structure, f"/structures/{number}", "begin schema end")
            for name in ("begin", "end"):
                if not isinstance(getattr(each, name), str):
                    raise wrong(f"{brief(getattr(each, name))}; it takes a string", f"{each.at}/{name}")
            body = sequence([JsonSchema(each.schema, extra="forbid"), self.specials.grammar(each.end)])
            tags.append(Tag(each.at, each.begin, False, self.specials.grammar(each.begin), body))
        rules = self._matched(given.triggers, "/triggers", tags)
        return self._dispatched(rules, (), is_loop=True, is_first=given.at_least_one)

    def _fields(self, value: Any, at: str, kind: str) -> SimpleNamespace:
        if value.get("type", kind) != kind:
            raise wrong(f"{brief(value['type'])}; {kind!r} belongs here", f"{at}/type")
        return read({name: each for name, each in value.items() if name != "type"}, at, FORMATS[kind])

    # ------------------------------------------------------------------ single texts

    def _const_string(self, given: SimpleNamespace) -> Grammar:
        return self.specials.grammar(given.value)

    def _any_text(self, given: SimpleNamespace) -> Grammar:
        if given.max_tokens == 0:
            return Literal("")
        excludes = self._texts(given.excludes, given.ends.texts)
        return Text(max_tokens=given.max_tokens, max_chars=given.max_chars, excludes=excludes)

    def _regex(self, given: SimpleNamespace) -> Grammar:
        try:
            found = Regex(python_pattern(given.pattern))
        except GrammarError as error:
            raise placed_error(error, f"{given.at}/pattern") from None
        excludes = self._texts(given.excludes)
        return found & Ban(excludes) if excludes else found

    def _grammar(self, given: SimpleNamespace) -> Grammar:
        if given.syntax not in ("ebnf", "lark"):
            raise wrong(f'{brief(given.syntax)}; it takes "ebnf" or "lark"', f"{given.at}/syntax")
        return Ebnf(given.grammar) if given.syntax == "ebnf" else Lark(given.grammar)

    def _json_schema(self, given: SimpleNamespace) -> Grammar:
        excludes = self._texts(given.excludes)
        most = given.max_whitespace_cnt
        whitespace = None if most is None else rf"[ \n\r\t]{{0,{most}}}"
        order = "any" if given.any_order else "schema"
        schema = JsonSchema(given.json_schema, whitespace=whitespace, property_order=order, extra="forbid")
        if given.style == "json":
            return without_texts(schema, excludes)
        if given.style not in (*STYLES, *ELEMENTS):
            known = ", ".join(("json", *STYLES, *ELEMENTS))
            raise wrong(f"{brief(given.style)} is no style; there are {known}", f"{given.at}/style")
        if excludes and given.style in ELEMENTS:
            raise placed_error(
                UnsupportedFeature(f"{brief(given.excludes)} is not supported in this style"), f"{given.at}/excludes"
            )
        return entries_of(given.style, schema, self.specials, given.at, most, excludes)

    def _qwen_xml_parameter(self, given: SimpleNamespace) -> Grammar:
        given.style = "qwen_xml"
        return self._json_schema(given)

    def _texts(self, *excludes: Iterable[str]) -> tuple[str, ...]:
        """Those that a text may contain at all: no text has a special token in it."""
        return tuple(text for text in dict.fromkeys(chain(*excludes)) if self.specials.split(text) == [text])

    # ------------------------------------------------------------------ tokens

    def _token(self, given: SimpleNamespace) -> Grammar:
        return self.tokens.one_of([given.token], given.at)

    def _exclude_token(self, given: SimpleNamespace) -> Grammar:
        return self.tokens.any_but([*given.exclude_tokens, *given.ends.tokens], given.at)

    def _any_tokens(self, given: SimpleNamespace) -> Grammar:
        most = given.max_tokens
        return Repeat(self._exclude_token(given), 0, None if most is None or most > MOST else most)

    # ------------------------------------------------------------------ combinations

    def _all(self, values: list[Any], at: str, ends: Ends) -> list[Grammar]:
        return [self.of(value, f"{at}/{number}", ends) for number, value in enumerate(values)]

    def _sequence(self, given: SimpleNamespace) -> Grammar:
        return sequence(self._all(given.elements, f"{given.at}/elements", given.ends))

    def _or(self, given: SimpleNamespace) -> Grammar:
        return one_of(self._all(given.elements, f"{given.at}/elements", given.ends))

    def _content(self, given: SimpleNamespace) -> Grammar:
        return self.of(given.content, f"{given.at}/content", given.ends)

    def _optional(self, given: SimpleNamespace) -> Grammar:
        return one_of([self._content(given), Literal("")])

    def _star(self, given: SimpleNamespace) -> Grammar:
        return Repeat(self._content(given))

    def _plus(self, given: SimpleNamespace) -> Grammar:
        return Repeat(self._content(given), 1)

    def _repeat(self, given: SimpleNamespace) -> Grammar:
        most = None if given.max == -1 else given.max
        if max(given.min, most or 0) > MOST or (most is not None and given.min > most):
            raise wrong(f"between {given.min} and {given.max} times; min is at most max, and both {MOST:,}", given.at)
        return Repeat(self._content(given), given.min, most)

    # ------------------------------------------------------------------ tags

    def _tag(self, given: SimpleNamespace) -> Grammar:
        return self._made(given).whole

    def _tags(self, given: SimpleNamespace) -> list[Tag]:
        places = ((value, f"{given.at}/tags/{number}") for number, value in enumerate(given.tags))
        return [self._made(self._fields(value, at, "tag")) for value, at in places]

    def _made(self, given: SimpleNamespace) -> Tag:
        begin, opening, _ = self._marker(given.begin, f"{given.at}/begin")
        if isinstance(given.end, list):
            ends, last = self._ends(given.end), one_of([*map(self.specials.grammar, given.end)])
        else:
            end, last, is_token = self._marker(given.end, f"{given.at}/end")
            ends = Ends(tokens=(end,)) if is_token else self._ends([str(end)])
        body = sequence([self.of(given.content, f"{given.at}/content", ends), last])
        return Tag(given.at, begin, isinstance(given.begin, dict), opening, body)

    def _ends(self, texts: list[str]) -> Ends:
        """Of strings; one that is a special token ends tokens, too."""
        pieces = ((text, self.specials.split(text)) for text in texts if text)
        return Ends(tuple(filter(None, texts)), tuple(text for text, found in pieces if found == [Token(text)]))

    def _marker(self, value: Any, at: str) -> tuple[str | int, Grammar, bool]:
        """A string, or a token: as given, as a grammar, and whether it is a token."""
        if isinstance(value, str):
            return value, self.specials.grammar(value), False
        token = self._fields(value, at, "token").token
        return token, self.tokens.one_of([token], at), True

    def _tags_with_separator(self, given: SimpleNamespace) -> Grammar:
        separator = self.specials.grammar(given.separator) if given.separator else None
        tags = one_of([tag.whole for tag in self._tags(given)])
        return Repeat(tags, int(given.at_least_one), 1 if given.stop_after_first else None, separator)

    # ------------------------------------------------------------------ free text, and what a trigger begins

    def _triggered_tags(self, given: SimpleNamespace) -> Grammar:
        rules = self._matched(given.triggers, f"{given.at}/triggers", self._tags(given))
        excludes, is_loop = [*given.excludes, *given.ends.texts], not given.stop_after_first
        return self._dispatched(rules, excludes, is_loop=is_loop, is_first=given.at_least_one)

    def _dispatch(self, given: SimpleNamespace) -> Grammar:
        rules = []
        for number, ((text, _), body) in enumerate(self._bodies(given)):
            if not isinstance(text, str):
                raise wrong(f"{text} is no string; token_dispatch takes tokens", f"{given.at}/rules/{number}/0")
            rules.append(rule_of(text, self.specials.split(text), body))
        return self._dispatched(rules, given.excludes, is_loop=given.loop)

    def _bodies(self, given: SimpleNamespace) -> list[tuple[list[Any], Grammar]]:
        """The rules, and the grammars of their formats."""
        return [(rule, self.of(rule[1], f"{given.at}/rules/{n}/1", given.ends)) for n, rule in enumerate(given.rules)]

    def _dispatched(
        self, rules: list[Rule], excludes: Iterable[str], *, is_loop: bool, is_first: bool = False
    ) -> Grammar:
        triggers = self._texts(rule.trigger for rule in rules)
        return dispatched(rules, triggers, self._texts(excludes), is_loop=is_loop, is_first=is_first)

    def _matched(self, triggers: list[str], at: str, tags: list[Tag]) -> list[Rule]:
        """The rule of each tag, by the only trigger that it begins with."""
        rules = []
        for tag in tags:
            self.specials.tick()
            found = [trigger for trigger in triggers if not tag.is_token and str(tag.begin).startswith(trigger)]
            if len(found) != 1:
                how = "none" if not found else f"{len(found)}"
                raise wrong(
                    f"{brief(tag.begin)} begins with {how} of the triggers; it takes a string with one",
                    f"{tag.at}/begin",
                )
            rules.append(rule_of(found[0], self.specials.split(str(tag.begin)), tag.body))
        self._check_used(triggers, {rule.trigger for rule in rules}, at)
        return rules

    def _check_used(self, triggers: list[Any], used: set[Any], at: str) -> None:
        for number, trigger in enumerate(triggers):
            if trigger not in used:
                raise wrong(f"the trigger {brief(trigger)} is no beginning of a tag", f"{at}/{number}")

    def _token_triggered_tags(self, given: SimpleNamespace) -> Grammar:
        tags, at = self._tags(given), f"{given.at}/trigger_tokens"
        triggers = [self.tokens.ids([trigger], at) for trigger in given.trigger_tokens]
        begins = [self.tokens.ids([tag.begin], tag.at) if tag.is_token else [] for tag in tags]
        for tag, ids in zip(tags, begins, strict=True):
            if ids not in triggers:
                raise wrong(f"{brief(tag.begin)} is none of the trigger tokens", f"{tag.at}/begin")
        used = {trigger for trigger, ids in zip(given.trigger_tokens, triggers, strict=True) if ids in begins}
        self._check_used(given.trigger_tokens, used, at)
        whole = one_of([tag.whole for tag in tags])
        first = whole if given.at_least_one else None
        return self._among_tokens(given, given.trigger_tokens, whole, first, is_loop=not given.stop_after_first)

    def _token_dispatch(self, given: SimpleNamespace) -> Grammar:
        at, rules = f"{given.at}/rules", self._bodies(given)
        calls = one_of([sequence([self.tokens.one_of([token], at), body]) for (token, _), body in rules])
        return self._among_tokens(given, [token for (token, _), _ in rules], calls, None, is_loop=given.loop)

    def _among_tokens(
        self, given: SimpleNamespace, triggers: list[Any], calls: Grammar, first: Grammar | None, *, is_loop: bool
    ) -> Grammar:
        excluded = self.tokens.ids([*given.exclude_tokens, *given.ends.tokens], given.at)
        for trigger in triggers:
            if not set(self.tokens.ids([trigger], given.at)).isdisjoint(excluded):
                raise wrong(
                    f"the trigger {brief(trigger)} is among the tokens that are excluded, or ends the tag around",
                    given.at,
                )
        free = Repeat(self.tokens.any_but([*triggers, *excluded], given.at))
        return in_turns(sequence([free, calls]), free, first, is_loop=is_loop)
