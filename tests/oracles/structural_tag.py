"""Which texts a structural tag has, by backtracking over its JSON: no automata, no grammars, all ends of a format at each place.

    Oracle({"type": "structural_tag", "format": {...}}).accepts("text")

A special token stands in texts under its name; `specials` are the names. A JSON value is whatever `json` reads and `jsonschema`
finds valid, so this is an upper bound of the texts that are allowed: order of keys, white space and spellings are free here.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema

# A property in each style: `key`, `value`, and where the style has them the word `string`, true or false, and the type.
ENTRY = {
    "qwen_xml": r"<parameter=(?P<key>[^>]*)>(?P<value>.*?)</parameter>",
    "minimax_xml": r'<parameter name="(?P<key>[^"]*)">(?P<value>.*?)</parameter>',
    "deepseek_xml": r'<｜DSML｜parameter name="(?P<key>[^"]*)" string="(?P<string>true|false)">(?P<value>.*?)</｜DSML｜parameter>',
    "glm_xml": r"<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>",
    "kimi_k3_xml": r'<\|open\|>argument key="(?P<key>[^"]*)" type="(?P<type>[a-z]*)"<\|sep\|>'
    r"(?P<value>.*?)<\|close\|>argument<\|sep\|>",
}
FIRST_PRIVATE = 0xE000  # a special token is one character here


def closed(schema: Any) -> Any:
    """Objects that declare properties have no others, unless the schema says so."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: each if name in ("enum", "const") else closed(each) for name, each in schema.items()}
    if "properties" in schema:
        found.setdefault("additionalProperties", False)
    return found


def entries_read(text: str, style: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The object that entries stand for, its properties in the declared order; ValueError where they are none."""
    found, at = dict[str, Any](), re.compile(r"\s*")
    place = at.match(text).end()  # type: ignore[union-attr]
    declared = schema.get("properties", {})
    while place < len(text):
        entry = re.compile(ENTRY[style], re.DOTALL).match(text, place)
        if entry is None or entry["key"] in found:
            raise ValueError("no entry, or a second one of its key")
        key, parts = entry["key"], entry.groupdict()
        kind = declared.get(key, schema.get("additionalProperties", {})).get("type", "string")
        is_string = kind == "string"
        if parts.get("string", str(is_string).lower()) != str(is_string).lower():
            raise ValueError("it says that it is another")
        if parts.get("type", kind) != ("number" if kind == "integer" and "type" in parts else kind):
            raise ValueError("it says that it is another")
        value = entry["value"]
        if is_string:
            found[key] = value.removeprefix("\n").removesuffix("\n") if style == "qwen_xml" else value
        else:
            found[key] = json.loads(value)
        place = at.match(text, entry.end()).end()  # type: ignore[union-attr]
    order = [key for key in declared if key in found]
    if [key for key in found if key in declared] != order:
        raise ValueError("out of order")
    return found


class Oracle:
    """One structural tag. `patterns`: what `re` has for the texts of grammars in it."""

    def __init__(self, tag: dict[str, Any], specials: tuple[str, ...] = (), patterns: dict[str, str] | None = None):
        self.letters = {name: chr(FIRST_PRIVATE + number) for number, name in enumerate(specials)}
        self.patterns = patterns or {}
        if "structures" in tag:
            tags = [{"begin": s["begin"], "end": s["end"], "content": {"type": "json_schema", "json_schema": s["schema"]}}
                    for s in tag["structures"]]  # fmt: skip
            self.format: dict[str, Any] = {"type": "triggered_tags", "triggers": tag["triggers"], "tags": tags}
        else:
            self.format = tag["format"]

    def spelled(self, text: str) -> str:
        """The text with one character for each special token, the longest name first."""
        names = sorted(self.letters, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, names)), lambda name: self.letters[name.group()], text) if names else text

    def accepts(self, text: str) -> bool:
        self.text = self.spelled(text)
        self.ends_of.cache_clear()
        return len(self.text) in self.ends(self.format, 0, ())

    def ends(self, given: dict[str, Any], start: int, inside: tuple[str, ...]) -> frozenset[int]:
        return self.ends_of(json.dumps(given), start, inside)

    @functools.cache  # noqa: B019 - cleared by each text
    def ends_of(self, given: str, start: int, inside: tuple[str, ...]) -> frozenset[int]:
        """Where a text of the format that begins at a place may end; `inside`: the ends of the nearest tag around it."""
        known = json.loads(given)
        return frozenset(getattr(self, f"_{known.get('type', 'tag')}")(known, start, inside))

    def _literal(self, text: str, start: int) -> Iterator[int]:
        if self.text.startswith(text := self.spelled(text), start):
            yield start + len(text)

    def _spans(self, start: int, fits: Callable[[str], bool]) -> Iterator[int]:
        return (end for end in range(start, len(self.text) + 1) if fits(self.text[start:end]))

    def _is_plain(self, text: str) -> bool:
        return not any(letter in text for letter in self.letters.values())

    def _const_string(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        return self._literal(given["value"], start)

    def _any_text(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        banned = [self.spelled(text) for text in (*given.get("excludes", ()), *inside)]
        most = given.get("max_chars", len(self.text))
        if given.get("max_tokens") == 0:
            most = 0
        return self._spans(
            start, lambda text: len(text) <= most and self._is_plain(text) and not any(each in text for each in banned)
        )

    def _regex(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        pattern, banned = re.compile(given["pattern"], re.DOTALL), given.get("excludes", ())
        return self._spans(
            start, lambda text: bool(pattern.fullmatch(text)) and not any(each in text for each in banned)
        )

    def _grammar(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        return self._spans(start, lambda text: bool(re.fullmatch(self.patterns[given["grammar"]], text, re.DOTALL)))

    def _json_schema(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        schema, style = closed(given["json_schema"]), given.get("style", "json")
        validator = jsonschema.Draft202012Validator(schema)

        def fits(text: str) -> bool:
            try:
                value = json.loads(text) if style == "json" else entries_read(text, style, schema)
                return self._is_plain(text) and validator.is_valid(value)
            except (ValueError, AttributeError):  # of "additionalProperties": False
                return False

        return self._spans(start, fits)

    def _token(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        return self._literal(given["token"], start)

    def _exclude_token(self, given: Any, start: int, inside: tuple[str, ...]) -> Iterator[int]:
        banned = {self.spelled(name) for name in (*given.get("exclude_tokens", ()), *inside)}
        return iter([start + 1] if start < len(self.text) and self.text[start] not in banned else [])

    def _any_tokens(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return self._times(
            lambda at: frozenset(self._exclude_token(given, at, inside)), start, 0, given.get("max_tokens")
        )

    def _in_order(self, given: list[dict[str, Any]], start: int, inside: tuple[str, ...]) -> set[int]:
        found = {start}
        for each in given:
            found = {end for at in found for end in self.ends(each, at, inside)}
        return found

    def _sequence(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return self._in_order(given["elements"], start, inside)

    def _or(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return {end for each in given["elements"] for end in self.ends(each, start, inside)}

    def _optional(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return {start, *self.ends(given["content"], start, inside)}

    def _star(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return self._times(lambda at: self.ends(given["content"], at, inside), start, 0, None)

    def _plus(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        return self._times(lambda at: self.ends(given["content"], at, inside), start, 1, None)

    def _repeat(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        most = None if given["max"] == -1 else given["max"]
        return self._times(lambda at: self.ends(given["content"], at, inside), start, given["min"], most)

    def _times(self, step: Callable[[int], frozenset[int]], start: int, least: int, most: int | None) -> set[int]:
        """After each number of steps; beyond so many as the text has characters nothing is new."""
        found, here = set[int](), {start}
        for turn in range((len(self.text) + least if most is None else min(most, len(self.text) + least)) + 1):
            found |= here if turn >= least else set()
            here = {end for at in here for end in step(at)}
        return found

    def _tag(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        ends = given["end"] if isinstance(given["end"], list) else [given["end"]]
        names = [end["token"] if isinstance(end, dict) else end for end in ends]
        begin = given["begin"]["token"] if isinstance(given["begin"], dict) else given["begin"]
        found = set[int]()
        for at in self._literal(begin, start):
            for last in self.ends(given["content"], at, tuple(filter(None, names))):
                found |= {end for name in names for end in self._literal(name, last)}
        return found

    def _tags_with_separator(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        def turn(at: int) -> set[int]:
            return {end for tag in given["tags"] for end in self._tag(tag, at, ())}

        def further(at: int) -> frozenset[int]:
            return frozenset(end for middle in self._literal(given["separator"], at) for end in turn(middle))

        most = 0 if given.get("stop_after_first") else None
        found = {end for at in turn(start) for end in self._times(further, at, 0, most)}
        return found if given.get("at_least_one") else found | {start}

    # ------------------------------------------------------------------ text and triggers

    def _triggered_tags(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        def after(trigger: str, at: int) -> set[int]:
            """The tag begins where its trigger does."""
            tags = [tag for tag in given["tags"] if tag["begin"].startswith(trigger)]
            return {end for tag in tags for end in self._tag(tag, at - len(self.spelled(trigger)), ())}

        is_loop, excludes = not given.get("stop_after_first"), (*given.get("excludes", ()), *inside)
        if not given.get("at_least_one"):
            return self._dispatched(given["triggers"], after, excludes, start, is_loop)
        first = {end for tag in given["tags"] for end in self._tag(tag, start, ())}
        return (
            {end for at in first for end in self._dispatched(given["triggers"], after, excludes, at, True)}
            if is_loop
            else first
        )

    def _dispatch(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        def after(trigger: str, at: int) -> set[int]:
            return {end for text, body in given["rules"] if text == trigger for end in self.ends(body, at, inside)}

        return self._dispatched(
            [text for text, _ in given["rules"]], after, given.get("excludes", ()), start, given.get("loop", True)
        )

    def _token_dispatch(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        def after(trigger: str, at: int) -> set[int]:
            return {end for text, body in given["rules"] if text == trigger for end in self.ends(body, at, inside)}

        excludes, triggers = (*given.get("exclude_tokens", ()), *inside), [text for text, _ in given["rules"]]
        return self._dispatched(triggers, after, excludes, start, given.get("loop", True), is_text=False)

    def _token_triggered_tags(self, given: Any, start: int, inside: tuple[str, ...]) -> set[int]:
        def after(trigger: str, at: int) -> set[int]:
            tags = [tag for tag in given["tags"] if tag["begin"]["token"] == trigger]
            return {end for tag in tags for end in self._tag(tag, at - 1, ())}

        is_loop, excludes = not given.get("stop_after_first"), (*given.get("exclude_tokens", ()), *inside)
        starts = {start}
        if given.get("at_least_one"):
            starts = {end for tag in given["tags"] for end in self._tag(tag, start, ())}
            if not is_loop:
                return starts
        triggers = given["trigger_tokens"]
        return {end for at in starts for end in self._dispatched(triggers, after, excludes, at, is_loop, is_text=False)}

    def _dispatched(
        self,
        triggers: list[str],
        after: Callable[[str, int], set[int]],
        excludes: Any,
        start: int,
        is_loop: bool,
        is_text: bool = True,
    ) -> set[int]:
        """All ends of text and what triggers begin. The first trigger that is complete counts, the longest of several."""

        def begins_one(text: str) -> bool:
            """Is the text plain, but for the beginning of a trigger at its end?"""
            cuts = [(text[:at], text[at:]) for at in range(len(text) + 1)]
            return any(
                self._is_plain(left) and letters.startswith(right) for left, right in cuts for letters, _ in spelled
            )

        found, waiting = set[int](), [start]
        seen = {start}
        spelled = sorted(((self.spelled(trigger), trigger) for trigger in triggers), key=lambda pair: -len(pair[0]))
        banned = [self.spelled(text) for text in excludes]
        while waiting:
            begin = waiting.pop()
            for end in range(begin, len(self.text) + 1):
                text = self.text[begin:end]
                if any(each in text for each in banned):
                    break
                complete = next((trigger for letters, trigger in spelled if text.endswith(letters)), None)
                if complete is not None:
                    further = after(complete, end)
                    found |= set() if is_loop else further
                    waiting += further - seen if is_loop else ()
                    seen |= further
                    break
                if not is_text or self._is_plain(text):
                    found.add(end)
                elif not begins_one(text):
                    break
        return found
