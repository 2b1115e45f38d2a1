"""A JSON value put together from the events that tell of its parts."""

import itertools
from typing import Any

from grammarlm.decoding.answers.events import Event


def rebuilt(events: list[Event]) -> Any:
    """The value, put together from the events that tell of its parts; those of whole containers and strings are only compared."""
    found: dict[tuple, Any] = {}
    keys: set[tuple] = set()
    for event in events:
        path = event.path
        if event.kind in ("object", "array"):
            found[path] = {} if event.kind == "object" else []
        elif event.kind == "key":
            keys.add(path)
            assert isinstance(found[path[:-1]], dict)
        elif event.kind == "string":
            assert event.chunk
            found[path] = found.get(path, "") + event.chunk
        else:
            assert event.kind == "value"
            if isinstance(event.value, str):
                assert found.setdefault(path, "") == event.value
            elif not isinstance(event.value, (dict, list)):
                found[path] = event.value
            assert repr(found[path]) == repr(event.value)
            if path:
                holder, step = found[path[:-1]], path[-1]
                if isinstance(holder, list):
                    assert step == len(holder)
                    holder.append(found.pop(path))
                else:
                    assert path in keys
                    holder[step] = found.pop(path)
    assert list(found) == [()]
    return found[()]


def check_events(events: list[Any], out: Any) -> None:
    """Those of one answer tell its text, parts, calls and values."""
    assert "".join(event.text for event in events) == out.text
    assert [event.value for event in events if event.kind == "part"] == sorted(out.parts, key=lambda part: part.span[1])
    assert [event.value for event in events if event.kind == "call"] == list(out.calls or ())
    told = [event for event in events if event.kind in ("object", "array", "key", "string", "value")]
    for (name, _), group in itertools.groupby(told, key=lambda event: (event.part, event.number)):
        value = rebuilt(list(group))
        assert name is None or value in [part.value for part in out.parts if part.name == name]
        assert name is not None or value == out.value
