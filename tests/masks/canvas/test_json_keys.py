"""Which keys the given tokens of a row may spell."""

import pytest

from grammarlm.masks.canvas.json.keys import tight_keys


@pytest.mark.parametrize(
    ("run", "keys"),
    [
        (b'{"a": 1, "b" :', [b"a", b"b"]),
        (b'"a":', [b"a"]),  # whatever is masked before it
        (b'{"a": "', [b"a"]),  # the quote behind `a` closes, so `: ` is no key
        (b'": "', [b": "]),  # here it may open
        (b'["a", "b"', [b"b"]),  # in an object behind `[` there is no comma yet; `, "b"` may be one's in a string
        (b'\\": "x":', []),  # a quote behind a backslash opens nothing
        (b'{"\\u0061":', [b"a"]),
    ],
)
def test_tight_keys(run, keys):
    assert tight_keys([run]) == keys
