"""Events of `gl.stream`: deltas of the text, its named parts, and parsing events of JSON in it while it is being written.

| kind       | means                                                             | fields besides `kind` and `row`      |
|------------|-------------------------------------------------------------------|--------------------------------------|
| "text"     | more of the answer                                                | `text`                               |
| "object"   | an object begins at `path`                                        | `path`                               |
| "array"    | an array begins at `path`                                         | `path`                               |
| "key"      | an object has a key, its last step in `path`; the value follows   | `path`                               |
| "string"   | more of a string value: `chunk`, with its escapes resolved        | `path`, `chunk`                      |
| "value"    | the value at `path` is complete                                   | `path`, `value`                      |
| "begin"    | a named part begins                                               |                                      |
| "part"     | a named part is complete: `value` is the Part, as in the result   | `value`                              |
| "call"     | a call of a tool is complete: `value` is the Call, as in the result | `value`                            |
| "end"      | the answer is complete, or was cut                                | `result`, as generate() returns it   |

A path leads to a value: `("orders", 0, "name")`; the whole answer's is `()`. A value's event comes after those of its parts, so the
last "value" of a JSON answer is that of the whole text. Containers are not copied: a change to one shows in those around it.

Where the grammar has named parts, or one schema beside others, each event says which part it belongs to, the innermost one: `part`,
its name (None: none), and `number`, how many parts of this name began before it. Paths begin in the schema. An event comes when all
ways in which the text so far can be read agree on it, so text waits where it is not known yet whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from grammarlm.decoding.result import Result
from grammarlm.errors import brief

# The path to a value as a linked list, innermost step first: (the path around it, a key or an index); None is the whole text. Paths
# share their outer steps, so an event costs the same at any depth; `path_of` makes the tuple.
LinkedPath: TypeAlias = "tuple[LinkedPath, str | int] | None"


def path_of(linked_path: LinkedPath) -> tuple[str | int, ...]:
    """The steps from the whole text to a value."""
    steps = []
    while linked_path is not None:
        linked_path, step = linked_path
        steps.append(step)
    return tuple(reversed(steps))


@dataclass(frozen=True)
class Event:
    """One event of an answer."""

    kind: str
    text: str = ""
    chunk: str = ""
    value: Any = None
    result: Result | list[Result] | None = None
    row: int = 0  # index of the answer
    linked_path: LinkedPath = None
    part: str | None = None
    number: int = 0  # of the part, among those with its name

    @property
    def path(self) -> tuple[str | int, ...]:
        return path_of(self.linked_path)

    def __repr__(self) -> str:
        said = {"text": self.text, "chunk": self.chunk, "value": self.value, "result": self.result}
        shown = [f"{name}={brief(value, 120)}" for name, value in said.items() if name == OWN_FIELD.get(self.kind)]
        where = [f"path={brief(self.path, 120)}"] if self.kind not in ("text", "begin", "part", "call", "end") else []
        where += [] if self.part is None else [f"part={brief(self.part)}", f"number={self.number}"]
        return f"Event({', '.join([repr(self.kind), *where, *shown])})"


OWN_FIELD = {"text": "text", "string": "chunk", "value": "value", "part": "value", "call": "value", "end": "result"}
