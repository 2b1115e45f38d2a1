"""The automata of formats against the languages that they were made of, byte by byte."""

import random

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.strings.languages import Languages
from grammarlm.masks.machines.json.formats import automata_of, format_automata
from tests.internals import epoch_of

TEXTS = {
    "date": ["2024-02-29", "2023-02-29"],
    "date-time": ["2024-06-30T23:59:60Z", "2016-12-31T15:59:60-08:00", "2024-06-30T23:58:60Z", "2024-01-01t00:00:00.5+01:00"],
    "time": ["23:59:60Z", "08:30:06+24:00"],
    "email": ["joe.bloggs@example.com", "joe@[127.0.0.1]", ".a@b"],
    "idn-email": ["실례@실례.테스트"],
    "ipv4": ["127.0.0.1", "256.0.0.1"],
    "ipv6": ["::1", "1::d6:192.168.0.1", "1:2:3"],
    "uri": ["http://foo.bar/?baz=qux#quux", "//foo"],
    "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"],
    "duration": ["P4DT12H30M5S", "P1"],
    "regex": [r"^(?:a|(b{1,20})+)*$", r"(?=((a)))[^\d\]-z]\p{Lu}", "(" * 8 + ")" * 8, "(" * 9, "(?=(?!a))", "((?=a))", "(((?=a)))"],
}  # fmt: skip


@pytest.mark.parametrize("name", format_automata("regex").names)
def test_states_are_those_of_the_language(name):
    automata, languages, rng = format_automata(), Languages(), random.Random(name)
    language = frozenset([("format", name, True)])
    for text in [*TEXTS.get(name, []), *(mixed(rng, name) for _ in range(60))]:
        state, term = automata.start(name), languages.term(language)
        for byte in text.encode():
            state = int(automata.table[state, byte])
            term = languages.step(term, byte)
            assert (state > 0) == (not languages.is_dead(term)), (text, byte)
            if state < 0:
                break
            assert bool(automata.accepts[state]) == term.nullable


def mixed(rng, name):
    """A text at the edge of a format: one of its own, with something changed."""
    base = list(rng.choice(TEXTS.get(name, ["ab.c", "/a~1b", "a-b", "http://é/{x}", "1/2#"])))
    for _ in range(rng.randint(0, 2)):
        base[rng.randrange(len(base))] = rng.choice("0123456789-:.@/aZé%~{}")
    return "".join(base[: rng.randint(1, len(base))] if rng.random() < 0.3 else base)


def test_a_damaged_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    make = automata_of.__wrapped__
    made = make(("uuid",))
    (file,) = (tmp_path / "formats").iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    for damaged in (bytes(data), b"", bytes(data[:100])):
        file.write_bytes(damaged)
        again = make(("uuid",))
        assert np.array_equal(made.table, again.table)
        assert np.array_equal(made.starts, again.starts)


def test_distances_are_those_of_a_search_from_the_ends():
    """And ceilings those of the states that a walk from each finds: by sets of states, one at a time."""
    automata = automata_of(("date", "ipv6", "uuid"))
    after = [set(row[row > 0].tolist()) for row in automata.table]
    distances = {state: 0 for state in range(1, len(after)) if automata.accepts[state]}
    while len(distances) < len(after) - 1:
        most = max(distances.values())
        found = {
            s for s in range(1, len(after)) if s not in distances and any(distances.get(t) == most for t in after[s])
        }
        distances.update(dict.fromkeys(found, most + 1))
    for state in range(1, len(after)):
        seen, queue = {state}, [state]
        while queue:
            new = after[queue.pop()] - seen
            seen |= new
            queue += new
        assert automata.distances[state] == distances[state]
        assert automata.ceilings[state] == max(map(distances.get, seen))


@pytest.mark.parametrize(
    ("name", "text"), [("date-time", b'"2024-06-30T23:59:60Z"'), ("regex", b'"^(?:a|(b{1,20})+)*[^a-z](?=((x))y)$"')]
)
def test_no_mask_waits_for_a_state_of_a_format(name, text):
    vocab = gl.Vocabulary([bytes([b]) for b in range(256)] + [b"</s>"], stop_ids=[256])
    constraint = gl.compile(gl.JsonSchema({"type": "string", "format": name}), vocab)
    matcher = constraint.matcher()
    for byte in text:
        assert matcher.advance(byte)
    assert len(epoch_of(matcher).program.states) <= 1
    assert matcher.is_accepting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xn--4gbwdl.xn--wgbh1c", True),
        ("a.xn--p1ai.com", True),
        ("XN--" + "a" * 59, True),
        ("xn--" + "a" * 60, False),
        ("xn--a-", False),
        (".".join(["xn--" + "a" * 59] * 4), False),
    ],
)
@pytest.mark.parametrize("schema", [{"format": "hostname"}, {"format": "hostname", "minLength": 2, "pattern": "."}])
def test_masks_of_hostnames_take_punycode(schema, text, expected):
    """Token by token, some of which begin with a quote, or cross `xn--`."""
    tokens = [*(bytes([b]) for b in range(256)), b"</s>", b'"xn', b"xn--", b".xn--", b"n--4", b'c"']
    vocab = gl.Vocabulary(tokens, stop_ids=[256])
    constraint = gl.compile(gl.JsonSchema({"type": "string", **schema}), vocab)
    written, rng = b'"%s"' % text.encode(), random.Random(text)
    for _ in range(5):
        matcher, at = constraint.matcher(), 0
        while at < len(written):
            token = rng.choice([i for i, t in enumerate(tokens) if i != 256 and written.startswith(t, at)])
            if not matcher.advance(token):
                break
            at += len(tokens[token])
        assert (at == len(written) and matcher.is_accepting) == expected
