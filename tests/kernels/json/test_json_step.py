"""The JSON machine's bytes, tokens and masks against the texts of schemas that have few, and strings against their spelling."""

import itertools
import random
from typing import Any

import pytest

import grammarlm as gl
from tests.kernels.json.json_machine import BYTES, Machine, plain_vocabulary, vocabulary_of_texts
from tests.kernels.json.json_small_schemas import SMALL, Small
from tests.oracles.json_strings import Content, read_content
from tests.oracles.json_texts import END, below

EVERY_BYTE = range(256)
LIKELY = sorted(set(b'{}[]:,"\\/bfnrtu0123456789abcdefxyzABDEkpq truefalsnl-+.\n\t') | {0, 0x80, 0xC3, 0xF0, 0xFF})
NODES, THOROUGH = 150, 15  # how many places of a schema's texts are compared: with likely bytes, with every byte


def is_cut_off(one: Small, text: bytes, byte: int) -> bool:
    """Is more indentation allowed here than the texts of the universe have?"""
    return one.options["whitespace"] == "natural" and text.endswith((b"\n  ", b"\n\t\t")) and text[-1] == byte


def records(machine: Machine, root: dict[int, Any]) -> list[tuple[bytes, dict[int, Any], int]]:
    """The machine after each beginning of a text; all of them are alive."""
    found = [(b"", root, machine.start)]
    for text, node, record in found:  # grows while iterating
        for byte, after in node.items():
            if byte != END:
                reached = machine.read(record, bytes([byte]))
                assert reached, f"{text!r} cannot go on with {bytes([byte])!r}"
                found.append((text + bytes([byte]), after, reached))
    return found


@pytest.mark.parametrize("name", SMALL)
def test_a_byte_is_read_where_it_leads_to_a_text(name: str) -> None:
    one, rng = SMALL[name], random.Random(name)
    machine = Machine(one.schema, plain_vocabulary(), **one.options)
    places = records(machine, one.prefixes().root)
    assert all(machine.may_end(record) is (END in node) for _, node, record in places)
    for number, (text, node, record) in enumerate(rng.sample(places, min(NODES, len(places)))):
        for byte in EVERY_BYTE if number < THOROUGH else LIKELY:
            if not is_cut_off(one, text, byte):
                assert bool(machine.read(record, bytes([byte]))) is (byte in node), (text, bytes([byte]))


@pytest.mark.parametrize("name", SMALL)
def test_masks_and_tokens_are_read_byte_by_byte(name: str) -> None:
    """Of a few places at once, so that rows are found again which other places have left."""
    one, rng = SMALL[name], random.Random(name)
    prefixes = one.prefixes()
    vocab, tokens = vocabulary_of_texts([text for text, node in prefixes.nodes if END in node], rng, 300)
    machine, stops = Machine(one.schema, vocab, **one.options), set(vocab.stop_ids)
    for text, node in rng.sample(prefixes.nodes, min(60, len(prefixes.nodes))):
        record = machine.read(machine.start, text)
        row = machine.row(record)
        expected = {token for token, data in enumerate(tokens) if below(node, data) is not None}
        expected |= stops if END in node else set()
        compared = set(range(len(tokens))) | stops
        if text.endswith((b"\n  ", b"\n\t\t")):
            compared -= {token for token, data in enumerate(tokens) if is_cut_off(one, text, data[0])}
        if one.options["whitespace"] == "natural":
            compared -= {token for token, data in enumerate(tokens) if b"  " in data or b"\t\t" in data}
        assert row & compared == expected & compared, text
        assert row <= set(range(len(tokens))) | stops
        for token in rng.sample(sorted(compared - stops), 12):
            assert bool(machine.advance(record, token)) is (token in expected), (text, tokens[token])


PIECES = [
    *(b"a", b"\\", b"\\u", b"u", b"d", b"D8", b"dC", b"00", b"1", b"f", b'"', b"n", b"/", b"\x1f", b"\x7f", b"\\n"),
    *(b"\xc3", b"\xa9", b"\xe0", b"\xa0", b"\xe2\x82", b"\xac", b"\xed", b"\x9f", b"\xbf", b"\xf0", b"\x90", b"\x8f"),
    *(b"\xf4", b"\x80", b"\xc1", b"\xf5", b"\xe2", b"\\u00", b"\\ud83d", b"\\ude00", b"000", b"\\u001", b"b", b"B"),
]


def goes_on(content: Content | None, least: int, most: int | None) -> bool:
    """Does a string of so many characters begin, or end, with this content?"""
    if content is None:
        return False
    count = len(content.text)
    if content.is_closed:
        return count >= least and (most is None or count <= most)
    return most is None or count + content.has_begun <= most


@pytest.mark.parametrize(("least", "most"), [(0, None), (2, None), (1, 2)])
@pytest.mark.parametrize("spelling", ["any", "plain"])
def test_strings_are_read_as_they_are_spelled(spelling: str, least: int, most: int | None) -> None:
    rng, is_plain = random.Random(f"{spelling} {least}"), spelling == "plain"
    schema = {"type": "string", "minLength": least} | ({} if most is None else {"maxLength": most})
    machine = Machine(schema, plain_vocabulary(), whitespace="compact", spelling=spelling)
    opened, dead = machine.read(machine.start, b'"'), 0
    begun = {b"": opened}
    for _ in range(400):
        data = rng.choice(sorted(begun)[-80:])
        piece = rng.choice(PIECES)
        record, reached = begun[data], data
        for byte in piece:
            reached += bytes([byte])
            record = machine.read(record, bytes([byte]))
            content = read_content(reached, is_plain)
            assert bool(record) is goes_on(content, least, most), reached
            if not record:
                dead += 1
                break
            assert machine.may_end(record) is bool(content and content.is_closed)
        if record and not reached.endswith(b'"') and len(reached) < 30:
            begun[reached] = record
    assert dead > 50
    assert len(begun) > 50
    for data, record in rng.sample(sorted(begun.items()), 12):
        for byte in EVERY_BYTE:
            expected = goes_on(read_content(data + bytes([byte]), is_plain), least, most)
            assert bool(machine.read(record, bytes([byte]))) is expected, (data, byte)


OPEN = {"type": "object", "properties": {"ab": {}}, "maxProperties": 6}
CLOSED_NAMES = OPEN | {"propertyNames": {"pattern": "^[abc]+$"}}
KEYS = [b"ab", b"a", b"abc", b"b", b"ba", b"c", b"bb", b"aa"]


@pytest.mark.parametrize("schema", [OPEN, CLOSED_NAMES], ids=["open", "names"])
def test_no_key_comes_twice(schema: dict[str, Any]) -> None:
    """Keys that are free, in any number before: the quote that would end one of them again is refused, byte and token."""
    rng = random.Random(5)
    vocab = gl.Vocabulary([*BYTES, *(key + b'":' for key in KEYS), b"</s>"], stop_ids=[256 + len(KEYS)])
    machine = Machine(schema, vocab, whitespace="compact", spelling="any", property_order="any")
    for _ in range(120):
        chosen = rng.sample(KEYS, rng.randint(1, 5))
        text = b"{" + b",".join(b'"' + spelled(key, rng) + b'":1' for key in chosen) + b',"'
        record = machine.read(machine.start, text)
        assert record, text
        row = machine.row(record)
        for token, key in enumerate(KEYS, 256):
            is_new = key not in chosen
            assert bool(machine.read(record, spelled(key, rng) + b'"')) is is_new, (text, key)
            assert bool(machine.advance(record, token)) is is_new, (text, key)
            assert (token in row) is is_new, (text, key)


@pytest.mark.parametrize("names", [["a", "ac", "b", "bc"], ["a", "aa", "ab", "aab", "b"]])
def test_keys_that_are_used_up_are_not_begun(names: list[str]) -> None:
    """Names of a finite language, nearly all of them there: a key goes on only where it can become a new one."""
    pattern = "^(" + "|".join(names) + ")$"
    schema = {"type": "object", "propertyNames": {"pattern": pattern}, "maxProperties": len(names) - 1}
    machine = Machine(schema, plain_vocabulary(), whitespace="compact", property_order="any")
    for order in itertools.permutations(names):
        for count in range(len(names) - 1):
            text = b"{" + b"".join(b'"%s":1,' % name.encode() for name in order[:count]) + b'"'
            left = {name.encode() + b'"' for name in order[count:]}
            for begun in {name[:size] for name in left for size in range(len(name))}:
                record = machine.read(machine.start, text + begun)
                assert record, (text, begun)
                follow = {name[len(begun)] for name in left if name.startswith(begun)}
                for byte in b'abc"':
                    assert bool(machine.read(record, bytes([byte]))) is (byte in follow), (text, begun, bytes([byte]))


def test_the_keys_of_a_prefix_are_used_up_one_by_one() -> None:
    """Too many names to be listed, but few with one first letter."""
    schema = {"type": "object", "propertyNames": {"pattern": "^[a-z][0-9]?$"}, "properties": {"b": {}}}
    machine = Machine(schema, plain_vocabulary(), whitespace="compact", property_order="any")
    for letter in (b"a", b"b"):
        names = [letter, *(letter + b"%d" % digit for digit in range(10))]
        random.Random(1).shuffle(names)
        for count in range(len(names) + 1):
            text = b"{" + b"".join(b'"%s":1,' % name for name in names[:count]) + b'"'
            left = {name[len(letter) :] + b'"' for name in names[count:]}
            record = machine.read(machine.start, text + letter)
            assert bool(record) is bool(left), text
            for byte in b'0123456789a"':
                expected = any(rest[0] == byte for rest in left)
                assert bool(record and machine.read(record, bytes([byte]))) is expected, (text, bytes([byte]))


def spelled(key: bytes, rng: random.Random) -> bytes:
    """With a letter as an escape, now and then."""
    return b"".join(b"\\u%04x" % byte if rng.random() < 0.2 else bytes([byte]) for byte in key)
