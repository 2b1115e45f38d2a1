"""The tables of layout/: each fact is given once, and they fit each other."""

from importlib import import_module

import pytest

from grammarlm.layout.constants import Constants
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_arena import ARRAYS, OF_SURVEYS, USED_OF, fields

MODULES = [import_module(f"grammarlm.layout.{name}") for name in ("stack", "json", "table", "numbers", "narrow")]
CLASSES = [
    found
    for module in MODULES
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Constants) and found is not Constants
]


@pytest.mark.parametrize("names", CLASSES, ids=lambda names: names.__name__)
def test_no_two_names_are_one_place(names: type[Constants]) -> None:
    """An IntEnum takes a number that is given twice for another name of the first."""
    assert len(names.__members__) == len(list(names))


@pytest.mark.parametrize(
    "names", [names for names in CLASSES if "LENGTH" in names.__members__], ids=lambda n: n.__name__
)
def test_the_length_is_one_after_the_last_place(names: type[Constants]) -> None:
    assert max(names) == names["LENGTH"]


def test_each_array_stands_in_the_table_once() -> None:
    listed = [array.field for array in ARRAYS]
    assert len(set(listed)) == len(listed)
    numbers = [field for array in ARRAYS for field in (array.size, array.used) if field is not None]
    assert len(set(numbers)) == len(numbers)
    assert not set(listed) & set(numbers)
    assert Field.LENGTH not in {*listed, *numbers}


def test_a_group_has_one_size_one_count_and_its_hash_table_last() -> None:
    groups = list(dict.fromkeys(array.group for array in ARRAYS))
    assert set(groups) >= set(OF_SURVEYS)
    for group in groups:
        arrays = [array for array in ARRAYS if array.group == group]
        rows, hashes = [a for a in arrays if not a.is_hash], [a for a in arrays if a.is_hash]
        assert len(hashes) <= 1
        assert [array.field for array in arrays] == list(fields(group))
        assert arrays[: len(rows)] == rows
        assert len({array.first for array in rows}) <= 1
        assert all(array.size is not None for array in hashes)
        assert all(array.size is None and array.used is None for array in rows[1:]), group
        if rows and rows[0].used is not None:
            assert USED_OF[group] == rows[0].used
