"""Plain schemas go straight to rows: these have to mean what the rows mean that the general way writes."""

import json
import marshal
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.nodes.normalise import normalise
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.strings.formats import SHARED
from grammarlm.grammars.json_schema.strings.text_algebra import TextAlgebra
from grammarlm.layout.json import INLINE, Array, Key, Object, Shape
from grammarlm.layout.numbers import Bound, Number
from grammarlm.layout.schema import ASSERTS_FORMATS, Said
from grammarlm.masks.machines.json.compile.compile import tables_of
from grammarlm.masks.machines.json.compile.frozen import frozen_program, frozen_reader, said_of
from grammarlm.masks.machines.json.compile.plain import HARD, plain_bits, plain_start
from grammarlm.masks.machines.json.compile.program import ProgramWriter
from grammarlm.masks.machines.json.languages import SchemaLanguages
from grammarlm.masks.machines.json.rows.plain_scalars import NotPlain
from tests.oracles.random_json_schemas import RandomSchemas
from tests.real_data import MASKBENCH, needs_data


@pytest.fixture(scope="module")
def tables():
    return tables_of(gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256]), "flexible", "any")


def written(tables, schema, way, texts=None):
    """(rows, blob, start) of a schema; None where this way leaves it to another. `texts` number the states of languages."""
    texts = texts or SchemaLanguages(lambda: TextAlgebra(shared=SHARED), 65_536)
    if way == "frozen":
        frozen, document = marshal.dumps(schema, 4), lambda: Document(schema)
        try:
            program = frozen_program(
                frozen,
                "assert",
                False,
                tables.spelling,
                tables.has_formats,
                lambda *begun: ProgramWriter(texts, tables, begun=begun),
                document,
                lambda: None,
            )
        except NotPlain:
            program = None
        if program is None:
            return None
    else:
        writer = ProgramWriter(texts, tables)
        if way == "plain":
            start = plain_start(writer, Document(schema), lambda: None)
            if start is None:
                return None
        else:
            start = writer.nodes.row(normalise(schema, languages=texts.languages).root)
        program = writer.finish(start)
    data = program.rows.tobytes()
    return list(program.rows), data[program.blob_at :], program.start


def repr_of_80(value):
    return repr(value)[:80]


class Meaning:
    """Two programs read side by side from their starts; what they share is compared once."""

    def __init__(self, one, other):
        self.programs = one, other
        self.todo, self.known = [("node", one[2], other[2])], set()

    def check(self):
        while self.todo:
            pair = self.todo.pop()
            if pair not in self.known:
                self.known.add(pair)
                kind, a, b = pair
                values = [getattr(self, kind)(p, at) for p, at in zip(self.programs, (a, b), strict=True)]
                (said, inner), (said_there, inner_there) = values
                assert said == said_there, (kind, said, said_there)
                assert [k for k, _ in inner] == [k for k, _ in inner_there]
                self.todo += [(k, x, y) for (k, x), (_, y) in zip(inner, inner_there, strict=True)]

    def node(self, program, at):
        rows = program[0]
        if at < 0:
            return at, []
        said, inner = [rows[at]], []
        for i in range(rows[at]):
            kind, row = rows[at + 2 + 2 * i : at + 4 + 2 * i]
            said.append(kind)
            if kind == Shape.LITERAL:
                said.append(row)
            else:
                inner.append((Shape(kind).name.lower(), row))
        return said, inner

    def string(self, program, at):
        return program[0][at : at + 4], []

    def words(self, program, at):
        rows, blob = program[:2]
        table, first, last = rows[at : at + 3]
        keys = [rows[table + i * Key.LENGTH :][: Key.LENGTH] for i in range(first, last)]
        return [blob[key[0] : key[0] + key[1]] for key in keys], []

    def number(self, program, at):
        rows = program[0]
        row = rows[at : at + Number.LENGTH]
        said = []
        for start in (Number.POSITIVE, Number.NEGATIVE):  # the digits of bounds lie elsewhere
            for length, where in ((Bound.LOW_LENGTH, Bound.LOW_AT), (Bound.HIGH_LENGTH, Bound.HIGH_AT)):
                said.append(rows[row[start + where] :][: -(-row[start + length] // 16)])
                row[start + where] = 0
        excluded = rows[row[Number.EXCLUDED_AT] :][: 2 * row[Number.EXCLUDED]]
        row[Number.EXCLUDED_AT] = 0
        return [row, said, excluded], []

    def object(self, program, at):
        rows, blob = program[:2]
        row = rows[at : at + Object.LENGTH]
        count = row[Object.COUNT]
        keys = [rows[row[Object.KEYS] + i * Key.LENGTH :][: Key.LENGTH] for i in range(count)]
        names = [(blob[k[0] : k[0] + k[1]], k[3]) for k in keys]
        others = row[Object.OTHERS]
        said = [names, row[5:9], row[Object.AVAILABLE], row[Object.DEFAULT], others < 0 and others]
        if count <= INLINE:
            said.append(rows[row[Object.RANKS] :][: count + 2] if count else [])
        else:
            said.append(rows[row[Object.NEEDED_LIST] :][: 1 + rows[row[Object.NEEDED_LIST]]])
        return said, [("node", k[2]) for k in keys] + ([("node", others)] if others >= 0 else [])

    def array(self, program, at):
        rows = program[0]
        row = rows[at : at + Array.LENGTH]
        ways = rows[row[Array.ITEMS] :][: row[Array.PREFIX] + 1]
        said = [row[0], row[2:5], row[6], [rows[w] for w in ways], [rows[w + 2] for w in ways if rows[w]]]
        return said, [("node", rows[w + 1]) for w in ways if rows[w]]


def compare(tables, schema):
    """True where the plain ways took the schema."""
    texts = SchemaLanguages(lambda: TextAlgebra(shared=SHARED), 65_536)
    try:
        mine = written(tables, schema, "plain", texts)
    except gl.UnsupportedFeature as refusal:  # some shape of a node that the general way has made has no rows
        with pytest.raises(gl.UnsupportedFeature, match=re.escape(str(refusal))):
            written(tables, schema, "general")
        assert written(tables, schema, "frozen") is None
        return True
    kernel = written(tables, schema, "frozen", texts)
    if mine is None:
        assert kernel is None
        return False
    general = written(tables, schema, "general", texts)
    Meaning(mine, general).check()
    if kernel is not None:
        Meaning(kernel, general).check()
    return True


PLAIN = [
    {"type": "object"},
    {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["a", "z", "y"]},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {"properties": {"é": {"minimum": 3}, "e": {"maxLength": 4}}, "additionalProperties": {"type": ["null", "integer", "number"]}},
    {"type": "array", "items": {"enum": ["a", None, True, 3, 2, 1, 7, "é"]}, "minItems": 2, "maxItems": 5},
    {"type": ["array", "boolean"], "items": True, "uniqueItems": False},
    {"type": "string", "pattern": "^a+$", "minLength": 2},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "unknown", "maxLength": 9},
    {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
    {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/y", "type": "integer", "minimum": 0,
     "exclusiveMinimum": True},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}}}},
    {"type": "object", "properties": {str(i): {"type": "null"} for i in range(80)}, "required": ["3", "70", "5"]},
    {"definitions": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/x", "maxLength": 1}},
     "$schema": "http://json-schema.org/draft-07/schema#"},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/b"}]}, "b": {"type": "integer"}}},
    {"const": "x"},
    {"type": "string", "enum": ["x", 1, "y"]},
    {"title": "nothing is said"},
]  # fmt: skip

LOOP = {"required": ["x"], "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}
NOT_PLAIN = [
    {"type": "object", "properties": {"a": False}},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}, "minItems": 1}, "b": LOOP}, "$ref": "#/$defs/a"},
    {"type": ["object", "array"], "required": ["a"], "properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}, "minItems": 1},
    {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": ["array", "object"], "items": {"$ref": "#/$defs/b"},
     "minItems": 1, "required": ["a"], "additionalProperties": {"$ref": "#/$defs/b"}},
     "b": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 2}]}}},
    {"type": "integer", "minimum": 2, "maximum": 1},
    {"type": "integer", "minimum": 1.2, "maximum": 1.8},
    {"type": "string", "minLength": 2, "maxLength": 1},
    {"type": "string", "pattern": "^a$", "minLength": 2},
    {"type": "strange"},
    {"type": "object", "required": "a"},
    {"type": "number", "minimum": "a"},
    {"type": "number", "exclusiveMinimum": None},
    {"$ref": "#"},
    {"$ref": "#/nowhere"},
    {"type": "object", "properties": {"\ud800": True}},
    {"type": "array", "items": 3},
]  # fmt: skip


@pytest.mark.parametrize("schema", PLAIN, ids=lambda s: json.dumps(s)[:60])
def test_the_plain_way_takes_it_and_means_the_same(tables, schema):
    assert compare(tables, schema)
    assert written(tables, schema, "frozen") is not None


@pytest.mark.parametrize("schema", NOT_PLAIN, ids=lambda s: json.dumps(s)[:60])
def test_what_may_hold_no_value_or_is_wrong_is_left_to_the_general_way(tables, schema):
    assert written(tables, schema, "plain") is None
    assert written(tables, schema, "frozen") is None


def test_no_type_at_all_is_refused(tables):
    """The drafts' metaschemas take no empty list of types."""
    nothing = {"type": []}
    for schema, pointer in (
        (nothing, "/type"),
        ({"type": "object", "properties": {"a": nothing}}, "/properties/a/type"),
    ):
        with pytest.raises(gl.GrammarError, match=f"^{pointer}: the name of a type"):
            gl.compile(gl.JsonSchema(schema), tables.vocab)


def test_deep_schemas_are_left_to_the_general_way(tables):
    schema = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    assert written(tables, schema, "plain") is None
    assert written(tables, schema, "general") is not None


# What the kernel has to tell apart in a frozen schema.
STRING, SHARED_LIST = {"type": "string"}, ["b", "a", "b"]


def called(name, argument="x"):
    arguments = {"type": "object", "properties": {argument: STRING}}
    return {"type": "object", "properties": {name: arguments}, "required": [name], "additionalProperties": False}


def tagged(*names):
    return {"type": "object", "properties": {"x": STRING, "kind": {"enum": list(names)}}, "required": ["kind"]}


FROZEN = {
    "a dict in several places": {"properties": {"a": STRING, "b": STRING}, "required": ["b"], "additionalProperties": STRING},
    "a dict of two properties in several places": {"properties": {n: {"properties": {"x": STRING, "y": True}} for n in "ab"}},
    "a list in several places": {"properties": {"a": {"enum": SHARED_LIST}, "b": {"enum": SHARED_LIST, "type": "string"}}},
    "keywords as names": {"properties": {"type": {"type": "string"}, "properties": {"enum": ["type", "enum"]}, "id": True,
                                         "$ref": {"type": "null"}, "required": True}, "required": ["required", "type"]},
    "values twice": {"enum": ["b", "a", "b", True, True, None]},
    "long texts": {"enum": ["x" * 300, "x" * 299, "é" * 400], "description": "y" * 70_000},
    "half a pair in a description": {"type": "string", "description": "\ud800"},
    "names that begin alike": {"properties": {n: {"maxLength": len(n)} for n in ("aa", "a", "", "ab", "é", "Z", "zé", "z")}},
    "large numbers": {"type": "integer", "minimum": -(10**30), "maximum": 10**20},
    "a fraction": {"type": "number", "minimum": 0.1, "maximum": 1e300},
    "several types": {"type": ["array", "integer", "number", "null", "object"], "minimum": 3, "minItems": 1},
    "a type twice": {"type": ["string", "string"], "maxLength": 3},
    "lists in lists": {"items": {"items": {"items": {"maxItems": 0 + 3, "items": {"type": "boolean"}}}, "minItems": 2}},
    "lists of listed lists": {"title": "t", "examples": [[], [[]], [[1, [2]], {}], {"a": []}], "type": "array", "items": STRING},
    "required, not declared": {"type": "object", "required": ["b", "a", "b"], "additionalProperties": {"type": "null"}},
    "required is true": {"type": "object", "properties": {"a": {"type": "null", "required": True}}},
    "many keys": {"properties": {f"k{i % 7}{i}": {"type": "null"} for i in range(300)}, "required": ["k00", "k1141", "z", "y"]},
    "references to references": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"},
                                                                "c": STRING}},
    "a loop through optional keys": {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"items": {"$ref": "#"}}}},
    "a loop through a list": {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}, "required": ["a"]},
    "a reference through a list": {"properties": {"a": {"$ref": "#/anyOf/0"}}, "anyOf": [{"type": "object"}]},
    "an escaped reference": {"properties": {"a/b": STRING, "c": {"$ref": "#/properties/a~1b"},
                                            "d": {"$ref": "#/properties/a%2Fb"}}},
    "a reference by anchor": {"$defs": {"a": {"$anchor": "x", "type": "null"}}, "$ref": "#x"},
    "an address of its own": {"$id": "http://x/", "$defs": {"a": {"$id": "y", "$defs": {"b": STRING}}}, "$ref": "y#/$defs/b"},
    "a reference into another address": {"$defs": {"a": {"$id": "http://y/", "$defs": {"b": STRING}}}, "$ref": "#/$defs/a/$defs/b"},
    "an address of draft 4": {"$schema": "http://json-schema.org/draft-04/schema",
                              "properties": {"a": {"id": "http://y/", "items": STRING}}},
    "addresses that nothing leads to": {"$id": "http://x/", "properties": {"a": {"$id": "http://y/", "items": {"$id": "z",
                                        "type": "string"}}, "$id": {"$id": "#a", "maxLength": 3}}},
    "addresses, and a reference": {"properties": {"a": {"$id": "http://y/", "items": {"$ref": "#/$defs/b"},
                                                        "$defs": {"b": STRING}}}, "$defs": {"b": {"type": "null"}}},
    "addresses, and another draft": {"properties": {"a": {"$id": "http://y/", "$schema": "http://json-schema.org/draft-04/schema#",
                                                          "items": {"type": "integer"}}}},
    "no address of draft 7": {"$schema": "http://json-schema.org/draft-07/schema",
                              "properties": {"a": {"id": "http://y/", "items": STRING}}},
    "next to a reference, draft 7": {"$schema": "https://json-schema.org/draft-07/schema##", "definitions": {"a": STRING},
                                    "items": {"$ref": "#/definitions/a", "maxLength": 2}},
    "next to a reference, later": {"definitions": {"a": STRING}, "items": {"$ref": "#/definitions/a", "maxLength": 2}},
    "alternatives below": {"properties": {"a": {"oneOf": [STRING, {"type": "null"}]}, "b": {"items": {"not": {"type": "null"}}}},
                           "required": ["b"], "additionalProperties": {"anyOf": [STRING, {"const": 3}]}},
    "alternatives above": {"anyOf": [{"properties": {"a": STRING}}, {"type": "null"}]},
    "other items": {"additionalItems": False, "properties": {"a": {"type": "array", "items": STRING,
                                                                              "additionalItems": {"type": "null"}},
                    "b": {"type": "array", "additionalItems": False}}},
    "other items next to a list": {"items": {"items": [STRING], "additionalItems": False}},
    "formats": {"items": {"format": "date"}, "properties": {"a": {"type": "string", "format": "uuid", "maxLength": 99},
                "b": {"format": "hostname"}, "c": {"format": "unheard of"}, "d": {"format": "unheard of", "pattern": "^a"}}},
    "a union": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": STRING, "a": {"minimum": 3, "type": "number"}}},
                          {"type": "string", "maxLength": 4}]},
    "a union in another order": {"oneOf": [{"type": "array", "items": STRING}, {"enum": ["b", True, "a"]},
                                           {"type": ["null", "object"]}, {"type": "integer", "maximum": 9}]},
    "a union by references": {"items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "title": "x"},
                              "$defs": {"a": {"$ref": "#/$defs/c"}, "b": {"type": ["null", "boolean"]}, "c": STRING}},
    "a union in a union": {"anyOf": [{"type": "null"}, {"anyOf": [STRING, {"type": "array"}]}]},
    "a union in a union, by reference": {"properties": {"a": {"$ref": "#/$defs/a"},
                                                        "b": {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
                                         "$defs": {"a": {"anyOf": [STRING, {"type": "integer", "minimum": 3}]}}},
    "a union that holds itself": {"$defs": {"a": {"anyOf": [STRING, {"type": "array", "items": {"$ref": "#/$defs/a"},
                                                                     "minItems": 1}]}}, "$ref": "#/$defs/a"},
    "calls of functions": {"anyOf": [called("f"), called("g"), called("h"), {"type": "null"}]},
    "calls, one of them open": {"oneOf": [called("f"), called("g") | {"additionalProperties": True}]},
    "calls of one name": {"anyOf": [called("f"), called("f", "y")]},
    "tagged variants": {"items": {"oneOf": [tagged("a"), {"type": "integer"}, tagged("b", "c"), tagged("d")]}},
    "tagged variants, tags in common": {"items": {"oneOf": [tagged("a"), tagged("b", "a")]}},
    "tagged variants by reference": {"$defs": {"a": tagged("a"), "b": tagged("b"), "u": {"anyOf": [{"$ref": "#/$defs/a"},
                                     {"$ref": "#/$defs/b"}]}}, "items": {"$ref": "#/$defs/u"},
                                     "properties": {"x": {"$ref": "#/$defs/a"}}},
    "tags that a reference hides": {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"s": STRING}, "oneOf": [
        {"type": "object", "properties": {"kind": {"$ref": "#/definitions/s", "enum": [n]}}, "required": ["kind"]} for n in "ab"]},
    "tags not required": {"oneOf": [{"type": "object", "properties": {"kind": {"const": n}}} for n in "ab"]},
    "a tag against none": {"anyOf": [tagged("a"), {"type": "object", "properties": {"x": STRING}, "additionalProperties": False}]},
    "a union of everything": {"properties": {"a": {"anyOf": [True, STRING]}, "b": {"anyOf": [{}]}, "c": {"oneOf": [STRING, {}]}}},
    "a union of one type": {"items": {"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}},
    "a union with nothing": {"properties": {"a": {"anyOf": [STRING, False, {"type": "null"}]}, "b": {"oneOf": [False, STRING]}}},
    "a union next to something": {"type": ["string", "null"], "anyOf": [{"type": "string"}, {"type": "null"}]},
    "two unions": {"anyOf": [STRING, {"type": "null"}], "oneOf": [STRING, {"type": "object"}]},
    "a union of what is not plain": {"properties": {"a": {"anyOf": [{"not": STRING}, STRING]}, "b": {"anyOf": [{"type": "null"},
                                     {"patternProperties": {"^a": STRING}, "type": "object"}]}, "c": {"not": STRING}}},
    "one of one": {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"type": "object", "required": ["b", "a"]}]}}},
    "all of two": {"allOf": [STRING, {"maxLength": 3}]},
    "whole numbers": {"items": {"enum": [3, 1, 2, 2, 7, -5, "a", None, 100000]}, "properties": {"a": {"const": 0},
                      "b": {"type": "integer", "enum": list(range(40, 0, -3))}, "c": {"type": "string", "enum": ["a", 1]}}},
    "many whole numbers": {"enum": list(range(0, 600, 2))},
    "whole numbers of draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [1, 2, "a"]},
    "a loop through an alternative": {"type": ["object", "null"], "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    "no types": {"type": [], "properties": {"a": STRING}},
    "values of other types": {"type": ["string", "boolean"], "enum": [1, 2.5, None, "a", False]},
}  # fmt: skip


TAKEN_WHOLE = ["a union", "a union in another order", "a union by references", "calls of functions", "tagged variants",
               "tagged variants by reference", "a tag against none", "whole numbers",
               "addresses that nothing leads to", "other items"]  # fmt: skip


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("has_formats", [False, True])
def test_the_kernel_reads_what_marshal_writes(tables, name, has_formats):
    if has_formats:
        tables.format_state("date")
    texts = SchemaLanguages(lambda: TextAlgebra(shared=SHARED), 65_536)
    schema = FROZEN[name]
    if name in TAKEN_WHOLE:
        assert frozen_reader().read(marshal.dumps(schema, 4), ASSERTS_FORMATS, "any").tape is None
    kernel, reference = (written(tables, schema, way, texts) for way in ("frozen", "plain"))
    assert (kernel is None) == (reference is None)
    if kernel is not None:
        Meaning(kernel, reference).check()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", 3: True},
        {"properties": {3: True}},
        {"title": (1, 2)},
        {"title": b"x"},
        {"enum": ["\ud800"], "properties": {"\ud800": True}},
        {"$ref": "#/a", "a": {"$ref": "#"}},
        {"$ref": "#/$defs/39", "$defs": {str(i + 1): {"$ref": f"#/$defs/{i}"} for i in range(39)} | {"0": True}},
        {"type": "object", "required": [f"a{i}" for i in range(3000)]},
        {"description": "x" * (1 << 18)},
    ],
    ids=repr_of_80,
)
def test_what_the_kernel_does_not_know_is_left_to_python(tables, schema):
    assert written(tables, schema, "frozen") is None


def test_the_kernel_stops_where_its_room_ends(tables):
    words = [f"{i:09}" for i in range(2_000)]
    schema = {"properties": {str(i): {"enum": words, "title": str(i)} for i in range(300)}}  # the list is written once
    assert len(marshal.dumps(schema, 4)) < 1 << 16
    assert written(tables, schema, "frozen") is None
    assert written(tables, {"properties": {"a": {"enum": words}}}, "frozen") is not None


@pytest.mark.parametrize("bit", range(9))
def test_a_keyword_that_the_fast_readers_do_not_name_is_left_to_the_general_way(bit):
    """Whatever a new keyword is about, and whatever else has the same bits."""
    assert said_of("dependentSomething", 1 << bit) == int(Said.HARD)
    assert plain_bits({"dependentSomething": 1 << bit})["dependentSomething"] & HARD


def test_telling_objects_apart_has_an_end(tables):
    """64 objects, each pair of which shares only the last of the texts of all its keys: Python has to look."""
    listed = [{"enum": [f"{side}{i}" for i in range(1000)] + ["same"]} for side in "ab"]
    names = [f"k{i}" for i in range(60)]
    objects = [
        {"type": "object", "required": names, "properties": dict.fromkeys(names, listed[at % 2])} for at in range(64)
    ]
    schema = {"title": "x", "oneOf": objects}
    assert frozen_reader().read(marshal.dumps(schema, 4), ASSERTS_FORMATS, "any").tape is not None


def test_places_that_are_the_same_dict_are_read_once(tables):
    schema = {"type": "string"}
    for _ in range(300):
        schema = {"properties": {"a": schema, "b": schema}}
    rows, _, _ = written(tables, schema, "frozen")
    assert len(rows) < 300 * 60


def test_threads_share_the_reader(tables):
    schemas = [{"properties": {f"{i}{k}": {"maxLength": i + k} for k in range(40)}} for i in range(8)]
    alone = [written(tables, schema, "frozen") for schema in schemas]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            assert list(pool.map(lambda schema: written(tables, schema, "frozen"), schemas)) == alone


@pytest.mark.parametrize("seed", range(4))
def test_random_schemas_mean_the_same(tables, seed):
    supply = RandomSchemas(f"plain {seed}")
    taken = sum(compare(tables, supply.schema()) for _ in range(40))
    assert taken > 5


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(4, 8))
def test_many_random_schemas_mean_the_same(tables, seed):
    supply = RandomSchemas(f"plain {seed}")
    assert sum(compare(tables, supply.schema()) for _ in range(1500)) > 200


@needs_data
def test_real_schemas_mean_the_same(tables):
    taken = total = 0
    for file in sorted(MASKBENCH.glob("*.json"))[::60]:
        total += 1
        taken += compare(tables, json.loads(file.read_text())["schema"])
    assert taken > 0.8 * total
