"""gl.Generator, tokenizers that are found, progress, and what a second call finds."""

import io
import shutil

import pytest

import grammarlm as gl
from grammarlm.decoding import progress
from tests.decoding.random_models import random_model

torch = pytest.importorskip("torch")


@pytest.fixture
def found(tokenizer, tmp_path):
    """A model that was loaded from a folder with its tokenizer."""
    import transformers

    random_model("Llama", len(tokenizer)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()


def test_a_tokenizer_is_found_where_the_model_is(found, tokenizer, tmp_path):
    options = {"regex": "[a-z]{5}", "max_tokens": 9}
    expected = gl.generate(found, "the cat", tokenizer=tokenizer, **options)
    assert gl.generate(found, "the cat", **options).tokens == expected.tokens
    shutil.rmtree(tmp_path)
    nameless = random_model("Llama", len(tokenizer))
    with pytest.raises(ValueError, match="no tokenizer lies where the model was loaded from"):
        gl.generate(nameless, "the cat", **options)


def test_a_generator_is_generate_with_what_was_said_once(model, tokenizer):
    generator = gl.Generator(model, list[int], tokenizer=tokenizer, max_tokens=20)
    expected = gl.generate(model, "the cat", schema=list[int], tokenizer=tokenizer, max_tokens=20)
    out = generator("the cat")
    assert (out.tokens, out.value) == (expected.tokens, expected.value)
    assert out.stats.cache_hit
    two = generator(["the cat", "a hat"], temperature=0.9, seed=2, max_tokens=12)
    assert len(two) == 2
    assert all(isinstance(one.value, list) and len(one.tokens) <= 12 for one in two)
    events = list(generator.stream("the cat"))
    assert events[-1].result.tokens == expected.tokens
    assert gl.Generator(model, gl.Regex("[0-9]{3}"), tokenizer=tokenizer)("a").value.isdigit()
    assert gl.Generator(model, tokenizer=tokenizer)("a", regex="x{3}").value == "xxx"
    with pytest.raises(gl.GrammarError, match="line 1, column 1"):
        gl.Generator(model, gl.Regex("("), tokenizer=tokenizer)
    with pytest.raises(TypeError, match="model is int"):
        gl.Generator(7, int)


def test_a_second_call_says_that_it_found_the_constraint(model, tokenizer):
    hits = [gl.generate(model, "a", regex="[x-z]{4}q", tokenizer=tokenizer).stats.cache_hit for _ in range(2)]
    assert hits == [False, True]


def test_progress_is_shown(model, tokenizer, monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    options = {"tokenizer": tokenizer, "regex": "[a-z]{3}", "batch_size": 2}
    outs = gl.generate(model, ["a", "b", "c", "d", "e"], progress=True, **options)
    assert len(outs) == 5
    assert "5/5" in stderr.getvalue()
    stderr.truncate(0)
    gl.generate(model, ["a", "b", "c"], **options)  # no terminal: nothing is shown
    assert not stderr.getvalue().strip("\0")
    with pytest.raises(ValueError, match="progress='yes'"):
        gl.generate(model, ["a"], progress="yes", **options)
    with progress.bar_of(0, 1, True) as show:
        show(0)
    assert "0/0" in stderr.getvalue()


def test_what_is_refused(model, tokenizer):
    options = {"tokenizer": tokenizer, "regex": "[a-z]{3}"}
    for changed, kind, message in (
        ({"n": 0}, ValueError, "n=0; it takes an integer from 1 to "),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"forced": "skip"}, ValueError, "forced='skip'; it takes None, 'score', 'write' or 'off'"),
        ({"cache": "paged"}, ValueError, "cache='paged'; it takes None, 'dynamic', 'static' or 'off'"),
        ({"close": "yes"}, ValueError, "close='yes'; it takes True or False"),
        ({"method": "magic"}, ValueError, "method='magic'; it takes"),
        ({"typical_p": 0}, ValueError, "typical_p=0"),
        ({"repetition_penalty": 0}, ValueError, "repetition_penalty=0"),
        ({"max_tokens": 2}, ValueError, "max_tokens=2 may not be enough for a text of this grammar"),
        ({"beams": 3}, TypeError, "beams"),
    ):
        with pytest.raises(kind, match=message):
            gl.generate(model, "a", **{**options, "regex": "[0-9]{9}", **changed})
