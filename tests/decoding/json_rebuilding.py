"""A JSON value put together from the events that tell of its parts."""

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
