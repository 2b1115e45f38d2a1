"""Schemas of Python types: what the constraint takes, pydantic reads; integers are plain digits, and the report says so."""

import dataclasses
import enum
import json
import sys
import typing
from typing import Any, Literal

import pytest
import typing_extensions

import grammarlm as gl
from grammarlm.grammars.json_schema.types.python_types import reader_of
from tests.laws.vocabularies import every_byte
from tests.texts import accepts

pydantic = pytest.importorskip("pydantic")
pydantic_core = pytest.importorskip("pydantic_core")

READS_KEYS = "extras_keys_schema" in pydantic_core.core_schema.ModelFieldsSchema.__annotations__
VOCAB = every_byte().vocabulary()


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Seats(pydantic.BaseModel):
    count: int = pydantic.Field(ge=0, multiple_of=5)
    price: float = 1.0
    inner: "Seats | None" = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Named(typing.TypedDict):
    name: str
    size: typing.NotRequired[int] if sys.version_info >= (3, 11) else int


def book(day: str, seats: int, /, *, window: bool = False, notes: "list[str] | None" = None, **others: int) -> None:
    """`day` and `seats` have no names to the outside."""


def order(item: str, count: int = 1, *rest: str, colour: Literal["red", 1] = "red") -> tuple[str, int]:
    return item, count


TEXTS = [
    *(
        "1",
        "-7",
        "1.0",
        "1e2",
        "10e-1",
        "1.5",
        "999999999999999999",
        "1000000000000000000",
        "-1000000000000000000",
        "5",
        "null",
    ),
    *('"red"', "true", "[]", "[1,2]", "[1.0]", '{"x":1}', '{"x":1,"y":2.0}', '{"x":1,"y":3}', '{"name":"a","size":2}'),
    *('{"name":"a","size":2e0}', '{"count":10}', '{"count":10.0}', '{"count":10,"price":1e2,"inner":{"count":5}}'),
    *(
        '{"count":7}',
        '{"item":"a"}',
        '{"item":"a","count":2,"colour":1}',
        '{"item":"a","colour":1.0}',
        '{"item":"a","z":1}',
    ),
    *('{"a":1}', '{"a":1.0}', '{"RED":1}'),
]
TYPES = [
    int, list[int], int | None, int | str, dict[str, int], Literal[1, "red", True], Colour, Seats, Point, Named, order,
    list[Point], enum.IntEnum("Number", "FIRST SECOND"), typing.Annotated[int, pydantic.Field(ge=10**20)],
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: getattr(kind, "__name__", str(kind))[:30])
def test_what_is_taken_is_read(kind: Any) -> None:
    """And what is refused of a type's texts is refused for the spelling or the size of an integer, or by its schema."""
    constraint, read = gl.compile(gl.JsonSchema(kind), VOCAB), reader_of(kind)
    written = gl.compile(gl.JsonSchema(gl.JsonSchema(kind).document()), VOCAB)
    taken = [text for text in TEXTS if accepts(constraint, text)]
    for text in taken:
        read(text)
    for text in set(TEXTS) - set(taken):
        assert not accepts(written, text) or any(mark in text for mark in ".e"), text
    assert "integers: plain digits" in constraint.report.caps[-1]
    assert "at most 18 of them" in constraint.report.caps[-1]


def test_how_long_integers_may_be() -> None:
    limits = {
        int: (10**18 - 1, 10**18),
        typing.Annotated[int, pydantic.Field(ge=0)]: (10**18 - 1, 10**18),
        typing.Annotated[int, pydantic.Field(ge=10**20)]: (10**21, 10**21 + 1),
        typing.Annotated[int, pydantic.Field(le=10**20)]: (10**20, 10**20 + 1),
    }
    for kind, (largest, too_large) in limits.items():
        constraint = gl.compile(gl.JsonSchema(kind), VOCAB)
        assert accepts(constraint, str(largest)), kind
        assert not accepts(constraint, str(too_large)), kind


def test_integers_as_they_are_asked_for() -> None:
    schema = {"type": "integer"}
    usual, plain = gl.JsonSchema(schema), gl.JsonSchema(schema, integers="plain")
    assert usual != plain
    assert accepts(gl.compile(usual, VOCAB), "1.0")
    assert not accepts(gl.compile(plain, VOCAB), "1.0")
    assert accepts(gl.compile(plain, VOCAB), "1" * 20)
    assert accepts(gl.compile(gl.JsonSchema(int, integers="any"), VOCAB), "1e2")
    with pytest.raises(ValueError, match="integers='digits'"):
        gl.JsonSchema(schema, integers="digits")


def test_they_are_saved_and_loaded() -> None:
    constraint = gl.compile(gl.JsonSchema(list[int]), VOCAB)
    again = gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB)
    assert again.grammar == constraint.grammar
    assert not accepts(again, "[1.0]")


def test_the_arguments_of_a_function() -> None:
    schema = gl.JsonSchema(order).document()
    assert schema["required"] == ["item"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"item", "count", "colour"}
    value = reader_of(order)(json.dumps({"item": "lamp", "count": 2}))
    assert order(**value) == ("lamp", 2)
    with pytest.raises(gl.UnsupportedFeature, match=r"book takes day: .*str.* by position only"):
        gl.compile(gl.JsonSchema(book), VOCAB)


class Ignoring(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")
    a: int = 0


class Forbidding(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    a: int = 0


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int = 0


class OpenDict(typing_extensions.TypedDict, total=False):
    __pydantic_config__ = pydantic.ConfigDict(extra="allow")  # type: ignore[misc]
    a: int


class Outer(pydantic.BaseModel):
    inner: Ignoring = Ignoring()
    free: Open = Open()
    several: "list[Outer | Point] | None" = None
    counts: dict[str, int] | None = None


T = typing.TypeVar("T")


class Box(pydantic.BaseModel, typing.Generic[T]):
    content: T


UNDECLARED = [
    (Ignoring, '{"a": 1}', '{"A": 1}'),
    (Forbidding, '{"a": 1}', '{"A": 1}'),
    (Named, '{"name": "a"}', '{"name": "a", "x": 1}'),
    (Point, '{"x": 1}', '{"x": 1, "z": 1}'),
    (pydantic.RootModel[Point], '{"x": 1}', '{"x": 1, "z": 1}'),
    (Box[Point], '{"content": {"x": 1}}', '{"content": {"x": 1, "z": 1}}'),
    (Ignoring | Point, '{"x": 1}', '{"x": 1, "a": 1}'),
    (Outer, '{"inner": {"a": 1}}', '{"inner": {"b": 1}}'),
    (Outer, '{"free": {"b": 1}}', '{"freee": {"b": 1}}'),
    (Outer, '{"several": [{"several": []}, {"x": 1}]}', '{"several": [{"several": [], "x": 1}]}'),
    (Outer, '{"counts": {"any": 1}}', '{"counts": {"any": "x"}}'),
    (order, '{"item": "a"}', '{"item": "a", "z": 1}'),
]


@pytest.mark.parametrize(("kind", "taken", "refused"), UNDECLARED)
def test_keys_that_nobody_declared(kind: Any, taken: str, refused: str) -> None:
    constraint = gl.compile(gl.JsonSchema(kind), VOCAB)
    assert accepts(constraint, taken)
    assert not accepts(constraint, refused)
    reader_of(kind)(taken)
    again = gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB)
    assert again.grammar == constraint.grammar
    assert accepts(again, taken)
    assert not accepts(again, refused)


def test_types_that_ask_for_other_keys() -> None:
    for kind in (Open, OpenDict):
        assert accepts(gl.compile(gl.JsonSchema(kind), VOCAB), '{"a": 1, "z": [2]}')
    for kind in (Ignoring, Point, Named, Outer):
        text = {Point: '{"x": 1, "z": 2}', Named: '{"name": "a", "z": 1}'}.get(kind, '{"z": 1}')
        assert accepts(gl.compile(gl.JsonSchema(kind, extra="allow"), VOCAB), text)
        assert gl.JsonSchema(kind, extra="allow") != gl.JsonSchema(kind)
    assert not accepts(gl.compile(gl.JsonSchema(Forbidding, extra="allow"), VOCAB), '{"z": 1}')
    assert not accepts(gl.compile(gl.JsonSchema(order, extra="allow"), VOCAB), '{"item": "a", "z": 1}')


def test_keys_are_those_that_validation_reads() -> None:
    class Aliased(pydantic.BaseModel):
        a: int = pydantic.Field(alias="A")
        b: int = pydantic.Field(default=1, validation_alias="B", serialization_alias="C")
        d: int = pydantic.Field(default=1, validation_alias=pydantic.AliasChoices("D", "E"))

        @pydantic.computed_field
        def e(self) -> int:
            return self.a

    constraint = gl.compile(gl.JsonSchema(Aliased), VOCAB)
    assert accepts(constraint, '{"A": 1, "B": 2, "D": 3}')
    assert reader_of(Aliased)('{"A": 1, "B": 2, "D": 3}').model_dump() == {"a": 1, "b": 2, "d": 3, "e": 1}
    for text in ('{"a": 1}', '{"A": 1, "b": 2}', '{"A": 1, "C": 2}', '{"A": 1, "e": 2}', '{"A": 1, "E": 2}'):
        assert not accepts(constraint, text)


def test_a_tag_is_never_left_out() -> None:
    class First(pydantic.BaseModel):
        kind: Literal["first"] = "first"

    class Second(pydantic.BaseModel):
        kind: Literal["second"] = "second"

    tagged = typing.Annotated[First | Second, pydantic.Field(discriminator="kind")]
    constraint = gl.compile(gl.JsonSchema(tagged), VOCAB)
    assert not accepts(constraint, "{}")
    assert accepts(constraint, '{"kind": "second"}')
    assert accepts(gl.compile(gl.JsonSchema(First | Second), VOCAB), "{}")


def test_a_tag_may_have_an_alias() -> None:
    class First(pydantic.BaseModel):
        kind: Literal["first"] = pydantic.Field("first", alias="Kind")

    class Second(pydantic.BaseModel):
        kind: Literal["second"] = pydantic.Field("second", alias="Kind")

    constraint = gl.compile(
        gl.JsonSchema(typing.Annotated[First | Second, pydantic.Field(discriminator="kind")]), VOCAB
    )
    assert accepts(constraint, '{"Kind": "second"}')
    for text in ("{}", '{"kind": "second"}', '{"Kind": "third"}'):
        assert not accepts(constraint, text)


def test_other_keys_are_none_that_a_field_is_read_from() -> None:
    class Named(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow", populate_by_name=True)
        x: int = pydantic.Field(
            default=1, validation_alias=pydantic.AliasChoices("X", "xx", pydantic.AliasPath("q", 0))
        )

    constraint = gl.compile(gl.JsonSchema(Named), VOCAB)
    assert accepts(constraint, '{"X": 1, "y": "b"}')
    for key in ("x", "xx", "q"):
        assert not accepts(constraint, f'{{"{key}": "b"}}')


def test_the_keys_of_a_dict_are_one_number_each() -> None:
    """`{"0": 1, "-0": 2}` is a dict of one item."""
    constraint = gl.compile(gl.JsonSchema(typing.Annotated[dict[int, int], pydantic.Field(min_length=2)]), VOCAB)
    assert accepts(constraint, '{"0": 1, "-7": 2}')
    assert not accepts(constraint, '{"0": 1, "-0": 2}')


def test_no_word_of_pydantics_own_is_unknown() -> None:
    """pydantic's name of the format is no word that the caller has misspelt."""

    class Marked(pydantic.BaseModel):
        mark: pydantic.UUID4

    assert gl.compile(gl.JsonSchema(Marked), VOCAB).report.warnings == ()


@pytest.mark.skipif(not READS_KEYS, reason="older versions do not read the keys' type")
def test_the_keys_of_what_a_model_does_not_declare() -> None:
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        __pydantic_extra__: "dict[typing.Annotated[str, pydantic.Field(max_length=2)], int]"
        long: int

    constraint = gl.compile(gl.JsonSchema(Open), VOCAB)
    assert accepts(constraint, '{"long": 1, "ab": 2}')
    assert not accepts(constraint, '{"long": 1, "abc": 2}')
