"""Every finished answer is an instance: random answers of each Python type, read by pydantic; types that are refused, by name."""

import collections
import dataclasses
import datetime
import enum
import fractions
import importlib.util
import ipaddress
import pathlib
import random
import re
import typing
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType

import annotated_types
import pytest
import typing_extensions

import grammarlm as gl
from tests.counts import tiers
from tests.mask_bits import ids_of
from tests.texts import BYTES

pydantic = pytest.importorskip("pydantic")
VERSION = tuple(map(int, pydantic.VERSION.split(".")[:2]))
HAS_EMAIL = importlib.util.find_spec("email_validator") is not None


class Permission(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 4


class Mark(enum.Flag):
    BOLD = 1
    WIDE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    TEXT = "a"
    WHOLE = 1
    NOTHING = None
    PART = 1.5


class Pair(NamedTuple):
    first: int
    second: str = "x"


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


@dataclasses.dataclass
class WithInit:
    x: int
    made: int = dataclasses.field(default=1, init=False)
    start: dataclasses.InitVar[int] = 3


class Short(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(str_max_length=3, str_strip_whitespace=True)
    c: int = pydantic.Field(default=1, alias="C")
    s: str = "a"


class PythonPattern(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(regex_engine="python-re")
    x: Annotated[str, pydantic.Field(pattern=r"b(?=c\d)")]


class AsBase64(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(val_json_bytes="base64")
    x: bytes


class AsHex(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(val_json_bytes="hex")
    x: Annotated[bytes, pydantic.Field(min_length=1, max_length=3)]


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog", "wolf"]
    inner: "Cat | Dog | None" = None


class Aliased(pydantic.BaseModel):
    a: int = pydantic.Field(validation_alias=pydantic.AliasChoices(pydantic.AliasPath("q", 0), "p"))
    b: int = pydantic.Field(default=1, alias="B")


T = typing.TypeVar("T")


class Box(pydantic.BaseModel, typing.Generic[T]):
    content: T
    more: "list[Box[T]] | None" = None


class NamedAliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", populate_by_name=True)
    x: int = pydantic.Field(default=1, alias="X")


class Puppy(pydantic.BaseModel):
    kind: Literal["puppy"] = pydantic.Field("puppy", alias="animalKind")
    age: int


class Kitten(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    kind: Literal["kitten", "kitty"] = pydantic.Field(alias="animalKind")


class Encoded(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(str_max_length=12)
    some: pydantic.Base64Bytes = pydantic.Field(min_length=3, max_length=9)
    text: pydantic.Base64Str = pydantic.Field(pattern="^[A-Z]*$")


class Attributes(typing_extensions.TypedDict, total=False):
    size: typing_extensions.Required[int]
    name: str


class Whole(pydantic.RootModel[list[int]]):
    pass


def held(kind: Any, **bounds: Any) -> Any:
    return Annotated[kind, pydantic.Field(**bounds)]


def names(*found: str) -> list[Any]:
    """Types that not every version of pydantic has."""
    return [getattr(pydantic, name) for name in found if hasattr(pydantic, name)]


DAY = datetime.date(1999, 12, 28)
NUMBERS = [
    int, float, bool, held(float, gt=0, lt=1), held(float, ge=-1.5), held(float, multiple_of=0.1), held(float, allow_inf_nan=False),
    held(float, strict=True), held(int, gt=3, multiple_of=7), pydantic.StrictInt, pydantic.StrictFloat, pydantic.StrictBool,
    pydantic.conint(gt=3), Annotated[int, annotated_types.Interval(ge=2, lt=9)],
    Decimal, held(Decimal, gt=0, max_digits=5, decimal_places=2), held(Decimal, max_digits=3), held(Decimal, decimal_places=2),
    held(Decimal, max_digits=3, decimal_places=3), held(Decimal, max_digits=4, decimal_places=0),
    held(Decimal, max_digits=20, decimal_places=2), held(Decimal, gt=Decimal("0.1"), lt=Decimal("0.3")),
    held(Decimal, multiple_of=Decimal("0.25")), held(Decimal, ge=5, le=7), held(Decimal, max_digits=2, decimal_places=4),
    pydantic.ByteSize,
]  # fmt: skip
if VERSION >= (2, 9):
    NUMBERS.append(complex)
if VERSION >= (2, 10):
    NUMBERS.append(fractions.Fraction)
TIMES = [
    datetime.date, held(datetime.date, ge=DAY, lt=datetime.date(2001, 3, 2)), held(datetime.date, gt=DAY), datetime.time,
    datetime.datetime, datetime.timedelta, pydantic.AwareDatetime, pydantic.NaiveDatetime, pydantic.PastDate, pydantic.PastDatetime,
]  # fmt: skip
TEXTS = [
    str, uuid.UUID, *names(*(f"UUID{version}" for version in range(1, 9))),
    *names("HttpUrl", "AnyUrl", "FileUrl", "AnyHttpUrl", "AnyWebsocketUrl", "WebsocketUrl", "FtpUrl", "PostgresDsn", "MongoDsn"),
    *names("RedisDsn", "AmqpDsn", "KafkaDsn", "MySQLDsn", "MariaDBDsn", "ClickHouseDsn", "SnowflakeDsn", "NatsDsn", "CockroachDsn"),
    pydantic.Base64Str, pydantic.Base64Bytes, pydantic.Base64UrlStr, pydantic.Base64UrlBytes, bytes, held(bytes, max_length=2),
    pathlib.Path, re.Pattern, pydantic.SecretStr, pydantic.SecretBytes,
    ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network, ipaddress.IPv4Interface,
    ipaddress.IPv6Interface, *names("IPvAnyAddress", "IPvAnyInterface", "IPvAnyNetwork"),
    Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)],
    Annotated[str, pydantic.StringConstraints(to_upper=True, pattern="^[A-Z]+$")],
    held(str, pattern=r"^\d{2}\D[^\d]\s\S[^\s]\w\W[^\w].$"), held(str, pattern=r"^[\w.-]+@[\s]$"),
    held(str, pattern=r"^(?P<a>[]a]){0,2}\z"), held(str, pattern="(?i)^k$"), pydantic.constr(pattern="a+"),
    PythonPattern, Short, AsBase64, AsHex, Encoded,
]  # fmt: skip
if HAS_EMAIL:
    TEXTS.append(pydantic.EmailStr)
KEYED = [
    dict[str, int], dict[int, str], held(dict[int, int], min_length=1, max_length=2),
    dict[Literal["a", "b"], int], dict[datetime.date, int], dict[datetime.datetime, int], dict[datetime.timedelta, int],
    dict[uuid.UUID, int], dict[Decimal, int], dict[float, int], dict[bool, int], dict[int | str, int], dict[bytes, int],
    dict[pydantic.HttpUrl, int], dict[held(str, pattern="^a+$"), int], dict[pydantic.Base64Str, int],
    *((dict[Permission, int], dict[Level, int], dict[Colour, int]) if VERSION >= (2, 7) else ()),
]  # fmt: skip
CONTAINERS = [
    Pair, tuple[int, str], tuple[int, ...], list[Decimal], held(list[int], min_length=2), set[int], held(set[int], min_length=3),
    frozenset[str], set[tuple[int, int]], set[Frozen], set[Any], set[float], Sequence[int], Iterable[int], collections.deque[int],
    held(collections.deque[int], min_length=2), collections.Counter[str], collections.defaultdict[str, int], Mapping[str, int],
    collections.OrderedDict[str, int], Decimal | None, Any, object, type(None), *([Hashable] if VERSION >= (2, 10) else []),
]  # fmt: skip
NAMED = [
    Permission, Mark, Level, Colour, Mixed, Literal["a", 1, True, None], Literal[Level.LOW, "x"], NewType("Count", int),
    typing_extensions.TypeAliasType("Row", list[int]), pydantic.TypeAdapter(list[datetime.date]),
]  # fmt: skip
MODELS = [
    Frozen, WithInit, Aliased, NamedAliased, Box[int], Attributes, Whole, Cat | Dog, held(Cat | Dog, discriminator="kind"),
    list[held(Cat | Dog, discriminator="kind")], held(Puppy | Kitten, discriminator="kind"),
]  # fmt: skip
TYPES = [*NUMBERS, *TIMES, *TEXTS, *KEYED, *CONTAINERS, *NAMED, *MODELS]


def answers(kind: Any, count: int, most: int = 24) -> Iterator[str]:
    """Random ones: at each place a token that the mask allows, until the budget closes the text."""
    constraint, rng = gl.compile(gl.JsonSchema(kind), BYTES), random.Random(str(kind)[:60])
    mask, least = gl.allocate_mask(1, BYTES.size), constraint.matcher().min_tokens_left
    for _ in range(count):
        matcher, written = constraint.matcher(max_tokens=least + rng.randrange(most)), bytearray()
        while True:
            matcher.fill_mask(mask)
            allowed = ids_of(mask[0])
            token = allowed[rng.randrange(len(allowed))]
            assert matcher.advance(token)
            if token == 256:
                break
            written.append(token)
        yield written.decode()


def name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")[:70]


def check_answers(kind: Any, count: int) -> None:
    adapter = kind if isinstance(kind, pydantic.TypeAdapter) else pydantic.TypeAdapter(kind)
    for text in answers(kind, count):
        adapter.validate_json(text)


@pytest.mark.parametrize("kind", TYPES, ids=name_of)
@tiers("count", 16, 200)
def test_every_answer_is_an_instance(count: int, kind: Any, record_property: Any) -> None:
    check_answers(kind, count)
    record_property("cases", count)


class Odd(enum.Enum):
    PAIR = (1, 2)


class Later(pydantic.BaseModel):
    when: "list[pydantic.FutureDate]"


class Plain:
    a: int


class Hook(pydantic.BaseModel):
    then: Callable[[], int]


class DecodedTwice(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(val_json_bytes="base64")
    some: pydantic.Base64Bytes


class FromPath(pydantic.BaseModel):
    a: int = pydantic.Field(validation_alias=pydantic.AliasPath("q", 0))


REFUSED = [
    (pydantic.Json[int], "use the type inside the brackets"),
    (pydantic.FutureDate, "moves on with the clock"),
    (pydantic.FutureDatetime, "moves on with the clock"),
    (Later, r"Later\.when: a date of the future"),
    (FromPath, r"FromPath: a is read from a path inside the input"),
    (pydantic.FilePath, "file-path"),
    (pydantic.DirectoryPath, "directory-path"),
    (pydantic.ImportString, "import_string|ImportString"),
    (type[int], "cannot say a class"),
    (set[list[int]], "a set of list"),
    (held(set[float], min_length=2), "use a list"),
    (held(datetime.datetime, gt=datetime.datetime(2020, 1, 1)), "gt= of a datetime"),
    (held(datetime.timedelta, gt=datetime.timedelta(1)), "gt= of a timedelta"),
    (held(pathlib.Path, min_length=3), "min_length"),
    (held(str, pattern=r"\bfoo"), r"\\b at character"),
    (held(str, pattern=r"[a&&b]"), "an operation on classes"),
    (dict[tuple[int, int], int], "use a list of pairs"),
    (dict[held(int, ge=-12, lt=340), int], "int as a key"),
    (DecodedTwice, "would be decoded twice"),
    (held(pydantic.Base64Str, pattern="^a"), "a pattern behind a function"),
    (Annotated[str, pydantic.AfterValidator(str.lower), pydantic.Field(pattern="^a")], "write it before the function"),
    (held(set[Literal[1, True]], min_length=2), "use a list"),
    (held(set[Annotated[str, pydantic.StringConstraints(to_lower=True)]], min_length=2), "use a list"),
    (held(dict[Annotated[str, pydantic.StringConstraints(to_upper=True)], int], min_length=2), "one in Python"),
    (Odd, r"Odd: nothing in JSON is read as \(1, 2\)"),
    (Literal[b"x"], "nothing in JSON is read as b'x'"),
    (Callable[[int], int], "pydantic makes no JSON schema"),
    (memoryview, "<class 'memoryview'>; write it as a dataclass, a TypedDict or a pydantic model$"),
    (Plain, r"of Plain: Unable .*Plain'>; write it as a dataclass, a TypedDict or a pydantic model$"),
    (
        Hook,
        r"pydantic makes no JSON schema of Hook\.then: Cannot generate a JsonSchema for core_schema.CallableSchema$",
    ),
]


@pytest.mark.parametrize(("kind", "reason"), REFUSED, ids=lambda part: name_of(part)[:40])
def test_types_that_are_refused_by_name(kind: Any, reason: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match=reason) as refusal:
        gl.compile(gl.JsonSchema(kind), BYTES)
    assert len(str(refusal.value)) <= 500
