"""Turns of an assistant, read by trying everything: every reading of a text under a layout, however many there are.

A text is a list of units: letters, and names of special tokens in place of tokens. The layout says by itself (not by the project's
rules) which strings free text and raw values do not hold.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jsonschema

Units = list[str]
Reading = tuple[str | None, str, tuple]  # reasoning, content, calls: (name, arguments as JSON text)


@dataclass(frozen=True)
class Rules:
    """What the project derives from a format, written by hand. `marks`, `value_mark`: what free text and raw values do not hold;
    `notation`: how objects and arrays are written, and what other words there are for null, true and false."""

    marks: tuple[str, ...]
    value_mark: str = ""
    notation: str = "json"
    words: tuple[tuple[str, object], ...] = ()


def units(text: str, specials: tuple[str, ...] = ()) -> Units:
    found: Units = []
    while text:
        name = max((s for s in specials if text.startswith(s)), key=len, default=text[0])
        found.append(name)
        text = text[len(name) :]
    return found


class Turns:
    """All readings of texts. `form`: a ToolFormat; `schemas`: by name, closed."""

    def __init__(
        self, form, schemas: dict[str, dict], rules: Rules, specials=(), *, mode="any", parallel=True, thought="none"
    ):
        self.form, self.schemas, self.rules, self.specials = form, schemas, rules, tuple(specials)
        self.mode, self.parallel, self.thought = mode, parallel and mode != "one" and form.between is not None, thought

    def readings(self, text: Units) -> set[Reading]:
        found = set()
        for reasoning, at in self._reasoning(text):
            if self.mode in ("any", "none"):
                for content, end in self._around(text, at, self._marks(self.form.content)):
                    if end == len(text):
                        found.add((reasoning, content, ()))
            for start in self._literal(text, at, self.form.lead):
                for content, here in self._before(text, start):
                    for calls, end in self._calls(text, here):
                        if end == len(text):
                            found.add((reasoning, content, calls))
        return found

    # ------------------------------------------------------------------ pieces

    def _literal(self, text: Units, at: int, wanted: str) -> Iterator[int]:
        own = units(wanted, self.specials)
        if text[at : at + len(own)] == own:
            yield at + len(own)

    def _free(self, text: Units, at: int, marks: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        for end in range(at, len(text) + 1):
            inner = text[at:end]
            if any(unit in self.specials for unit in inner) or any(mark in "".join(inner) for mark in marks):
                return
            yield "".join(inner), end

    def _marks(self, marks: tuple[str, str]) -> tuple[str, str]:
        gap = self.form.thought_gap if self.thought == "none" else ""
        return marks[0].removeprefix(gap), marks[1]

    def _around(self, text: Units, at: int, marks) -> Iterator[tuple[str, int]]:
        for start in self._literal(text, at, marks[0]):
            for inner, end in self._free(text, start, self.rules.marks):
                for after in self._literal(text, end, marks[1]):
                    yield inner, after

    def _reasoning(self, text: Units) -> Iterator[tuple[str | None, int]]:
        if self.thought == "none":
            yield None, 0
            if self.form.reasoning:
                yield from ((None, end) for end in self._literal(text, 0, "".join(self.form.reasoning)))
            return
        begin, end, blanks = self.form.reasoning
        for start in self._literal(text, 0, "" if self.thought == "open" else begin):
            for inner, at in self._free(text, start, self.rules.marks):
                for after in self._literal(text, at, end + blanks):
                    yield inner, after

    def _before(self, text: Units, at: int) -> Iterator[tuple[str, int]]:
        yield "", at
        if self.mode == "any" and self.form.beside is not None:
            for inner, end in self._around(text, at, self._marks(self.form.beside)):
                if inner:
                    yield inner, end

    # ------------------------------------------------------------------ calls

    def _calls(self, text: Units, at: int) -> Iterator[tuple[tuple, int]]:
        if self.mode == "none":
            return
        for start in self._literal(text, at, self.form.section[0]):
            waiting = [((call,), end) for call, end in self._call(text, start)]
            while waiting:
                calls, here = waiting.pop()
                for after in self._literal(text, here, self.form.section[1]):
                    yield calls, after
                if self.parallel:
                    for start_of_next in self._literal(text, here, self.form.between):
                        waiting += [((*calls, call), end) for call, end in self._call(text, start_of_next)]

    def _call(self, text: Units, at: int) -> Iterator[tuple[tuple, int]]:
        before, between, after = self.form.call
        for start in self._with_slots(text, at, before):
            for name, schema in self.schemas.items():
                own = units(name)
                if text[start : start + len(own)] != own:
                    continue
                for here in self._with_slots(text, start + len(own), between.replace("{name}", name)):
                    for arguments, end in self._arguments(text, here, schema):
                        for done in self._with_slots(text, end, after.replace("{name}", name)):
                            yield (name, json.dumps(arguments, sort_keys=True)), done

    def _with_slots(self, text: Units, at: int, wanted: str) -> Iterator[int]:
        for slot, letters in (("{index}", "0123456789"), ("{id}", "abcdefghijklmnopqrstuvwxyz0123456789_")):
            if slot in wanted:
                left, right = wanted.split(slot)
                for start in self._literal(text, at, left):
                    end = start
                    while end < len(text) and text[end] in letters:
                        end += 1
                        number = "".join(text[start:end])
                        if slot == "{id}" or number == str(int(number)):
                            yield from self._literal(text, end, right)
                return
        yield from self._literal(text, at, wanted)

    def _arguments(self, text: Units, at: int, schema: dict) -> Iterator[tuple[dict, int]]:
        if self.form.arguments == "json":
            yield from self._json(text, at, schema)
        else:
            keys = list(schema["properties"])
            is_sorted = self.form.arguments.keys == "sorted"
            yield from self._entries(text, at, schema, {}, sorted(keys, key=str.lower) if is_sorted else keys)

    def _json(self, text: Units, at: int, schema: dict, accept: Callable = lambda value: True):
        """JSON with blanks around it."""
        joined = ""
        for unit in text[at:]:
            if unit in self.specials:
                break
            joined += unit
        start = len(joined) - len(joined.lstrip(" \t\r\n"))
        try:
            value, end = json.JSONDecoder(object_pairs_hook=_no_twice, parse_constant=_refuse).raw_decode(joined, start)
        except ValueError:
            return
        if not _is_valid(value, schema) or not accept(value):
            return
        while True:
            yield value, at + end
            if joined[end : end + 1] not in (" ", "\t", "\r", "\n"):
                return
            end += 1

    # ------------------------------------------------------------------ entries

    def _entries(self, text: Units, at: int, schema: dict, found: dict, left: list[str]) -> Iterator[tuple[dict, int]]:
        """Declared properties in their order."""
        entries = self.form.arguments
        required = set(schema.get("required", ()))
        if not required & set(left):
            yield found, at
        for number, key in enumerate(left):
            for start in self._literal(text, at, entries.gap if found else ""):
                for value, end in self._entry(text, start, key, schema["properties"][key]):
                    yield from self._entries(text, end, schema, {**found, key: value}, left[number + 1 :])
            if key in required:
                return

    def _entry(self, text: Units, at: int, key: str, schema: dict) -> Iterator[tuple[object, int]]:
        entries = self.form.arguments
        before, between, after = (part.replace("{key}", key) for part in entries.entry)
        other = between if entries.other is None else entries.other
        for here in self._literal(text, at, before + key):
            for start in self._literal(text, here, between):
                for raw, end in self._strings(text, start):
                    if _is_valid(raw, schema) and not self._looks_like_another(raw, schema):
                        yield from ((raw, done) for done in self._literal(text, end, after))
            for start in self._literal(text, here, other):
                for value, end in self._others(text, start, schema):
                    if not isinstance(value, str) and _is_valid(value, schema):
                        yield from ((value, done) for done in self._literal(text, end, after))

    def _strings(self, text: Units, at: int) -> Iterator[tuple[str, int]]:
        entries = self.form.arguments
        if isinstance(entries.strings, tuple):
            for start in self._literal(text, at, entries.strings[0]):
                for inner, end in self._free(text, start, (entries.strings[1],)):
                    yield from ((inner, done) for done in self._literal(text, end, entries.strings[1]))
        else:
            yield from self._free(text, at, (self.rules.value_mark,))

    def _others(self, text: Units, at: int, schema: dict) -> Iterator[tuple[object, int]]:
        known = [value for _, value in self.rules.words]
        for value, end in self._json(text, at, schema):
            is_other = (isinstance(value, (dict, list)) and self.rules.notation != "json") or any(
                value is one for one in known
            )
            if not is_other:
                yield value, end
        for word, value in self.rules.words:
            yield from ((value, end) for end in self._literal(text, at, word))
        if self.rules.notation == "python":
            yield from self._python(text, at)
        if self.rules.notation == "braces":
            yield from ((value, end) for value, end in self._braces(text, at) if isinstance(value, (dict, list)))

    def _python(self, text: Units, at: int) -> Iterator[tuple[object, int]]:
        """Objects and arrays as Python writes them."""
        for end in range(at + 2, len(text) + 1):
            inner = "".join(text[at:end])
            if text[end - 1] in self.specials:
                return
            if inner[0] in "[{" and inner[-1] in "]}":
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        value = ast.literal_eval(inner)
                except (ValueError, SyntaxError, TypeError):
                    continue
                if repr(value) == inner:
                    yield value, end

    def _braces(self, text: Units, at: int) -> Iterator[tuple[object, int]]:
        """Values with bare, sorted keys, no white space and marks around strings."""
        yield from self._strings(text, at)
        for word, value in (("true", True), ("false", False), *self.rules.words):
            yield from ((value, end) for end in self._literal(text, at, word))
        for end in range(at + 1, min(len(text), at + 20) + 1):
            number = "".join(text[at:end])
            if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", number, re.ASCII):
                yield json.loads(number), end
        for start in self._literal(text, at, "["):
            for items, end in self._listed(text, start, self._braces):
                yield from ((items, done) for done in self._literal(text, end, "]"))
        for start in self._literal(text, at, "{"):
            for pairs, end in self._listed(text, start, self._pair):
                if len(dict(pairs)) == len(pairs):
                    yield from ((dict(pairs), done) for done in self._literal(text, end, "}"))

    def _pair(self, text: Units, at: int) -> Iterator[tuple[tuple[str, object], int]]:
        for key, end in self._free(text, at, (":",)):
            for start in self._literal(text, end, ":") if key[:1] != "}" else ():  # which ends the object
                yield from (((key, value), done) for value, done in self._braces(text, start))

    def _listed(self, text: Units, at: int, one: Callable) -> Iterator[tuple[list, int]]:
        yield [], at
        waiting = [([value], end) for value, end in one(text, at)]
        while waiting:
            found, here = waiting.pop()
            yield found, here
            for start in self._literal(text, here, ","):
                waiting += [([*found, value], end) for value, end in one(text, start)]

    def _looks_like_another(self, raw: str, schema: dict) -> bool:
        """Does a raw string read as a value of one of the other types that the schema has?"""
        if isinstance(self.form.arguments.strings, tuple):
            return False
        known = {value: word for word, value in self.rules.words}
        return raw in (
            known.get(value) for value in (None, True, False) if _is_valid(value, schema)
        ) or _looks_like_another(raw, schema)


def _looks_like_another(raw: str, schema: dict) -> bool:
    """Does a string read as a value of one of the other types that the schema has?"""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    bare = raw.strip(" \t\r\n")
    if ("object" in types and bare.startswith("{")) or ("array" in types and bare.startswith("[")):
        return True
    try:
        value = json.loads(bare, parse_constant=_refuse)
    except ValueError:
        return False
    if value is None or isinstance(value, bool):
        return ("null" if value is None else "boolean") in types
    return isinstance(value, (int, float)) and bool({"integer", "number"} & set(types))


def _pattern(validator: object, pattern: str, value: object, schema: dict) -> Iterator[jsonschema.ValidationError]:
    """`$` is the very end, unlike Python's."""
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield jsonschema.ValidationError("pattern")


VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})


def _is_valid(value: object, schema: dict) -> bool:
    return VALIDATOR(schema).is_valid(value)


def _no_twice(pairs: list) -> dict:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _refuse(name: str) -> None:
    raise ValueError(name)
