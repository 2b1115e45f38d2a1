"""The parts of an answer: what the named parts of its grammar stand for.

    grammar = gl.Capture("thought", gl.Text(until="</think>")) + gl.Capture("answer", gl.JsonSchema(Line))
    out = gl.generate(model, prompt, grammar=grammar)
    out["answer"]               # a Line; a list where the grammar allows several parts with this name
    out.parts[0].text           # "... </think>"

A text that can be read in several ways is read as masks/readings/ways.py says: in short, the parts that end first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from grammarlm.decoding.failures import message_of
from grammarlm.decoding.result import Part, Path
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.grammars.lowering import lowered
from grammarlm.grammars.names import names_of
from grammarlm.grammars.template import Template
from grammarlm.grammars.tools.read import Turn
from grammarlm.masks.readings.reader import Begun, Ended, Reader, Told
from grammarlm.masks.readings.ways import Label, Ways
from grammarlm.masks.runtime.limits import Clock, Limits
from grammarlm.vocab.byte_vocabulary import byte_vocabulary
from grammarlm.vocab.vocabulary import Vocabulary

from .answer_format import AnswerFormat, of_grammar
from .fields import Region
from .turns import tools_of, turn_of


@dataclass
class Answer:
    """What was found in an answer; the fields are those of a Result."""

    value: Any = None
    error: str | None = None
    parts: list[Part] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    turn: Turn | None = None
    regions: list[Region] = field(default_factory=list)  # in which its fields are


def answer_of(
    form: AnswerFormat,
    ways: Ways | None,
    vocab: Vocabulary,
    tokens: Sequence[int],
    pieces: Sequence[bytes],
    is_complete: bool,
) -> Answer:
    """The value and the parts of an answer; of one that was cut the parts that are certain, and no value. `pieces`: what each token
    appends, of the first what is not in the prompt, of the last what is before a stop string."""
    data = b"".join(pieces)
    if (tools := tools_of(form.grammar)) is not None:
        try:
            turn = turn_of(tools, vocab, tokens, pieces, is_complete)
            if form.inner is not None and is_complete and not turn.calls:
                return replace(content_of(form.inner, turn.content), turn=turn)
            return Answer(turn.value if is_complete else None, turn=turn)
        except Exception as error:  # code of a caller's type
            return Answer(error=message_of(error))
    if ways is None:
        found = Answer(*form.value(shown(data), list(tokens))) if is_complete else Answer()
        if isinstance(form.grammar, JsonSchema):
            found.regions = [Region((), (0, len(data)), range(len(tokens)), True, is_complete)]
        return found
    try:
        reader = PartReader(ways)
        for token, piece in zip(tokens, pieces, strict=True):
            reader.feed(token, piece)
        for told in reader.told(is_complete):
            reader.take(told)
        return reader.answer(is_complete)
    except Exception as error:  # code of a caller's type, a limit
        return Answer(error=message_of(error))


def content_of(form: AnswerFormat, text: str) -> Answer:
    """What a turn's content says: it is a text, so its parts have values, and no tokens of their own."""
    ways = text_ways(form.grammar)
    if ways is None:
        return Answer(*form.value(text, []))
    reader = PartReader(ways)
    for byte in text.encode():
        reader.feed(byte, bytes([byte]))
    for told in reader.told(is_complete=True):
        reader.take(told)
    return replace(reader.answer(is_complete=True), parts=[])


@lru_cache(maxsize=64)
def text_ways(grammar: Grammar | None) -> Ways | None:
    """What texts of a grammar are read along, whatever their tokens were; None where they have no parts."""
    if grammar is None or not grammar.operands:
        return None
    limits = Limits()
    names = names_of(lowered(grammar, byte_vocabulary(), Clock(limits).check))
    return None if names is None else Ways(names, byte_vocabulary(), limits)


def shown(data: bytes) -> str | bytes:
    """The text, or its bytes where they are no UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


@lru_cache(maxsize=256)
def value_format(grammar: Grammar | None) -> AnswerFormat:
    return AnswerFormat() if grammar is None else of_grammar(grammar)


class PartReader:
    """Reads one answer, and puts its parts together from what the reading tells."""

    def __init__(self, ways: Ways):
        self._ways, self._reader = ways, Reader(ways)
        self._special = frozenset(ways.vocab.special_ids)
        self._data = bytearray()
        self._tokens: list[int] = []
        self._parts: list[Part | None] = []  # in the order in which they begin
        self._around: list[int] = []  # of each the number of the part that it begins in; -1: none
        self._open: list[tuple[int, Label]] = []  # those that have not ended
        self._values: list[Any] = []  # of schemas and templates that stand in no template
        self._counts: Counter[str | None] = Counter()  # of the parts with each name
        self._paths: list[Path] = []
        self._regions: dict[int, Region] = {}

    def bytes_of(self, token: int) -> bytes:
        return b"" if token in self._special else self._ways.vocab.token_bytes(token)

    def feed(self, token: int, data: bytes) -> None:
        """Reads a token, or what the answer has of it."""
        self._reader.feed(token if data == self.bytes_of(token) else None, data)
        self._tokens.append(token)
        self._data += data

    def told(self, is_complete: bool = False) -> list[Told]:
        """What has become certain; all the rest where the text is complete."""
        return self._reader.finish() if is_complete else self._reader.told()

    @property
    def untold(self) -> bytes:
        return self._reader.untold

    def take(self, told: Told) -> Part | None:
        """Notes what was told; the part where one has ended."""
        if isinstance(told, Begun):
            self._paths.append(self._path_of(told.label))
            self._around.append(self._open[-1][0] if self._open else -1)
            self._open.append((len(self._parts), told.label))
            self._parts.append(None)
        if not isinstance(told, Ended):
            return None
        data = bytes(self._data[slice(*told.span)])
        tokens = self._tokens[told.tokens.start : told.tokens.stop]
        number, label = self._open.pop()
        error: str | None = None
        if isinstance(label.value, Template):
            value: Any = self._holes(number)
        else:
            value, error = value_format(label.value).value(shown(data), tokens)
        part = Part(label.name or "", data.decode(errors="replace"), value, told.span, told.tokens, error)
        self._parts[number] = part
        is_json = isinstance(label.value, JsonSchema)
        self._regions[number] = Region(self._paths[number], told.span, told.tokens, is_json)
        is_within = any(isinstance(around.value, Template) for _, around in self._open)
        if (is_json or isinstance(label.value, Template)) and not is_within:
            self._values.append(value)
        return part

    def _path_of(self, label: Label) -> Path:
        """The path of a part that begins; that of a schema without a name goes on from the part that it is in."""
        around = self._paths[self._open[-1][0]] if self._open and label.name is None else ()
        number = self._counts[label.name]
        self._counts[label.name] += 1
        own = () if label.name is None else (label.name,)
        return (*around, *own, *((number,) if self._ways.names.several.get(label.name) else ()))

    def _holes(self, number: int) -> dict[str, Any]:
        """The values of a template's holes: the parts that begin right in it."""
        inside = zip(self._parts[number + 1 :], self._around[number + 1 :], strict=True)
        return {part.name: part.value for part, around in inside if part is not None and around == number}

    def answer(self, is_complete: bool) -> Answer:
        names = self._ways.names
        parts = [part for part in self._parts if part is not None and part.name]
        named: dict[str, Any] = {}
        for part in parts:
            if names.several[part.name]:
                named.setdefault(part.name, []).append(part.value)
            else:
                named[part.name] = part.value
        named |= {name: [] for name, several in names.several.items() if name and several and name not in named}
        error = next((part.error for part in self._parts if part is not None and part.error), None)
        value: Any = None
        if is_complete:
            value = named if named else shown(bytes(self._data))
            if names.schemas == 1 and (self._values or names.several[None]):
                value = self._values if names.several[None] else self._values[0]
        regions = [self._regions[number] for number in sorted(self._regions.keys() - set(self._around))]
        return Answer(value, error, parts, named, regions=regions)
