"""What objects say of themselves: something, shortly, and never by raising."""

import logging
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm import version
from grammarlm.decoding import beam_search
from grammarlm.masks.constraint import compile as compile_anew
from grammarlm.models.tiny import FOLDER
from tests.texts import BYTES

LONG = "x" * 100_000


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no")


def model(ids):
    return torch.zeros(*ids.shape, 257)


def deep(depth):
    schema = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def shared(levels):
    """A schema with 2^levels places."""
    schema = {}
    for _ in range(levels):
        schema = {"anyOf": [schema, schema]}
    return schema


def results():
    plain = gl.generate(model, [65], vocab=BYTES, regex="[a-z]{3}")
    yield plain, ["text='aaa'", "finish_reason='stop'", "3 tokens"]
    yield replace(plain, value=Unshowable(), text=LONG), ["Result(text='xxx", "a value of type Unshowable"]
    yield replace(plain, value=10**5000), ["Result("]
    yield (
        gl.generate(model, [65], vocab=BYTES, regex="a", where=lambda text: False),
        ["'unsatisfied'", "where= refuses"],
    )
    smc = gl.generate(model, [65], vocab=BYTES, regex="[a-z]{3}", method="smc")
    yield smc, ["Result("]
    yield smc.population, ["Population of", "log_evidence"]
    yield (
        list(gl.stream(model, [65], vocab=BYTES, regex="b{300}", max_tokens=300))[-1],
        ["Event('end'", "result=Result("],
    )
    yield (
        gl.Generator(model, gl.Regex(LONG), vocab=BYTES, limits=gl.Limits(max_states=10**6), max_tokens=10**6),
        ["Generator(function"],
    )


def grammars():
    yield gl.Regex("a+"), ["Regex(pattern='a+')"]
    yield gl.Regex(LONG), ["Regex(pattern='xxx", "..."]
    yield gl.Regex(LONG.encode()), ["Regex(pattern=b'xxx"]
    yield gl.Choices([LONG, "b", "c", "d"]), ["Choices(['xxx", "...])"]
    yield gl.Ban([LONG, "b"]), ["Ban(['xxx"]
    yield gl.Text(), ["Text()"]
    yield gl.Text(until=LONG), ["Text(until='xxx"]
    yield gl.Lark(f'start: "{LONG}"'), ["Lark('start: "]
    yield gl.Lark("a: /x/", start="a" * 1000), ["start='aaa"]
    yield gl.Gbnf('root ::= "a"'), ["Gbnf('root ::= "]
    yield gl.Ebnf(LONG), ["Ebnf('xxx"]
    yield gl.JsonSchema({"const": LONG}), ["JsonSchema("]
    yield gl.JsonSchema({"minimum": 10**5000}), ["JsonSchema("]
    yield gl.JsonSchema(deep(5000)), ["JsonSchema("]
    yield gl.JsonSchema({"enum": list(range(0, 4_000_002, 2))}), ["JsonSchema({", '"enum":[0,2,4,', "..."]
    yield gl.JsonSchema(f'{{"const": "{LONG}"}}'), ["JsonSchema('{"]
    yield gl.JsonSchema(shared(300)), ['JsonSchema({"anyOf":[{"anyOf":']
    yield gl.JsonSchema(dict[str, int]), ["JsonSchema(dict[str, int])"]
    yield gl.Tokens([[1, 2], [3, 4]]), ["Tokens(2 items)"]
    yield gl.TokenList(gl.Tokens(["ab", "c"])), ["TokenList(", "Tokens(2 strings)"]
    yield gl.Regex(LONG) + gl.Regex("b") | gl.Choices(["c"]), [" | Choices(['c'])"]
    chain = gl.Regex("a")
    for _ in range(3000):
        chain = (chain + gl.Regex("b")) | gl.Regex("c")
    yield chain, ["|"]


def others():
    yield BYTES, ["Vocabulary: size 257"]
    yield gl.Limits(), ["Limits(max_bytes="]
    constraint = gl.compile(gl.Choices(["a", "ab"]), BYTES)
    yield constraint, ["<Constraint Choices(['a', 'ab']), 257 tokens"]
    yield constraint.report, ["<Report of Choices(['a', 'ab'])", "Limits("]
    matcher = constraint.matcher()
    yield matcher, ["<Matcher of Choices(['a', 'ab']), open>"]
    assert matcher.advance(97)
    yield matcher, ["may end>"]
    assert matcher.advance(256)
    yield matcher, ["finished>"]
    yield constraint.matcher(5), ["<FilteredMatcher of"]
    yield gl.LogitsProcessor([constraint, None]), ["LogitsProcessor(Choices(['a', 'ab']), None, max_tokens=None)"]
    yield gl.LogitsProcessor([constraint] * 100, max_tokens=3), ["... 100 prompts, max_tokens=3"]
    yield gl.ItemSet(np.arange(3000).reshape(-1, 3)), ["<ItemSet of 1,000 items"]
    automaton = gl.DeviceAutomaton(constraint)
    yield automaton, ["<DeviceAutomaton on cpu, 257 tokens>"]
    found = beam_search(lambda tokens, parents: torch.zeros(len(parents), 9), gl.Tokens([[1, 2], [3, 4]]), beams=2)
    yield found, ["<BeamResult: 2 of 2 items, the best"]


@pytest.mark.parametrize("objects", [grammars, results, others])
def test_reprs(objects):
    for one, holds in objects():
        shown = repr(one)
        assert len(shown) <= 600, shown[:200]
        assert " object at 0x" not in shown
        for part in holds:
            assert part in shown


def test_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", gl.__version__)
    assert gl.__version__ == version.version()


def test_the_version_of_what_is_installed(monkeypatch, tmp_path):
    """Without a source tree it is that of the package's metadata; without those it is none."""
    from importlib.metadata import PackageNotFoundError

    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\nversion = "9.9.9"\n')
    monkeypatch.setattr(version, "SOURCE", tmp_path / "pyproject.toml")
    monkeypatch.setattr(version, "metadata", lambda name: {"Version": f"1.2.3 of {name}"})
    assert version.version() == "1.2.3 of grammarlm"

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(version, "metadata", missing)
    assert version.version() == "0+unknown"


def test_what_is_logged(caplog, monkeypatch, tmp_path):
    """Compile times, refusals and files of the cache, each under the name of its folder; nothing of it is seen unasked."""
    monkeypatch.setenv("GRAMMARLM_CACHE", str(tmp_path))
    caplog.set_level(logging.DEBUG, logger="grammarlm")
    compile_anew(gl.Regex("[a-c]{3}"), BYTES)
    with pytest.raises(gl.GrammarError):
        compile_anew(gl.Regex("(" + LONG), BYTES)
    for _ in range(2):
        gl.Vocabulary.from_tokenizer(FOLDER)
    (table,) = (tmp_path / "vocab").iterdir()
    table.write_bytes(table.read_bytes()[:100])
    gl.Vocabulary.from_tokenizer(FOLDER)
    said = {(record.name, record.levelname, record.getMessage().split(" ")[0]) for record in caplog.records}
    texts = "\n".join(record.getMessage() for record in caplog.records)
    assert ("grammarlm.masks", "DEBUG", "compiled") in said
    assert ("grammarlm.masks", "INFO", "refused") in said
    assert ("grammarlm.cache", "DEBUG", "wrote") in said
    assert ("grammarlm.cache", "DEBUG", "read") in said
    assert "is not there yet" in texts
    assert "is damaged or another's, and made anew" in texts
    assert max(len(record.getMessage()) for record in caplog.records) < 1000


def test_nothing_is_logged_unasked(capfd):
    compile_anew(gl.Regex("[a-c]{4}"), BYTES)
    with pytest.raises(gl.GrammarError):
        compile_anew(gl.Regex("("), BYTES)
    assert capfd.readouterr().err == ""
    assert not [
        name
        for name in logging.root.manager.loggerDict
        if name.startswith("grammarlm") and logging.getLogger(name).handlers
    ]
