"""Templates: a text and holes with names; the same texts as literals and captures in a row."""

import enum
import pickle
import re

import pytest

import grammarlm as gl
from grammarlm.grammars.compose import Grammar
from grammarlm.grammars.names import names_of, without_names
from grammarlm.grammars.template import Template, has_template
from tests.texts import BYTES, accepts

WORD, NUMBER = gl.Regex("[a-z]+"), gl.Regex("[0-9]{1,2}")


class Color(enum.Enum):
    RED = "red"


def reads(grammar: Grammar, text: str) -> bool:
    return accepts(gl.compile(grammar, BYTES), text)


TEMPLATES = {
    "words": (gl.Template("Name: {name}, age {age}.", name=WORD, age=NUMBER), r"Name: [a-z]+, age [0-9]{1,2}\."),
    "braces": (gl.Template("{{{a}}} {{}} }}{{", a=NUMBER), r"\{[0-9]{1,2}\} \{\} \}\{"),
    "only a hole": (gl.Template("{a}", a=WORD), "[a-z]+"),
    "side by side": (gl.Template("{a}{b}{c}", a=WORD, b=NUMBER, c=["x", "yz"]), "[a-z]+[0-9]{1,2}(x|yz)"),
    "no hole": (gl.Template("as it is"), "as it is"),
    "nothing": (gl.Template(""), ""),
    "names of parameters": (gl.Template("{self} {text}", self=WORD, text=NUMBER), "[a-z]+ [0-9]{1,2}"),
    "integers": (gl.Template("<{n}>", n=(3, 12)), "<(3|12)>"),
    "a type": (gl.Template("<{n}>", n=bool), "<(true|false)>"),
    "an Enum is JSON": (gl.Template("<{n}>", n=Color), '<"red">'),
    "a schema": (gl.Template("<{n}>", n={"enum": ["a", None]}), '<("a"|null)>'),
    "in a row": (gl.Template("{a}.", a=WORD) + gl.Template("{b}!", b=NUMBER), r"[a-z]+\.[0-9]{1,2}!"),
    "one or the other": (gl.Template("{a}.", a=WORD) | "none", r"[a-z]+\.|none"),
    "repeated": (gl.Repeat(gl.Template("{a}", a=NUMBER), 1, 2, ","), "[0-9]{1,2}(,[0-9]{1,2})?"),
    "a template in a hole": (gl.Template("({a})", a=gl.Template("<{b}>", b=WORD)), r"\(<[a-z]+>\)"),
    "within limits": (gl.Template("{a}-{b}", a=WORD, b=NUMBER) & gl.Regex(".{4}"), "(?=.{4}$)[a-z]+-[0-9]{1,2}"),
}
TEXTS = [
    "", "as it is", "Name: ada, age 33.", "Name: ada, age 333.", "Name: , age 3.", "{7} {} }{", "{{7}} {} }{", "ab", "a1",
    "ab12x", "ab12yz", "ab yz", "ab 12", "<3>", "<12>", "<3.0>", "<03>", "<true>", '<"red">', "<red>", '<"a">', "<null>", "ab.1!",
    "ab.", "none", "1,22", "1,22,3", "(<ab>)", "<ab>", "ab-1", "a-12", "abc-1",
]  # fmt: skip


@pytest.mark.parametrize("name", TEMPLATES)
def test_texts_are_those_of_a_regex(name: str) -> None:
    grammar, pattern = TEMPLATES[name]
    expected = [text for text in TEXTS if re.fullmatch(pattern, text)]
    assert expected
    assert [text for text in TEXTS if reads(grammar, text)] == expected


@pytest.mark.parametrize("name", TEMPLATES)
def test_it_is_saved_and_compared_by_content(name: str) -> None:
    grammar, _ = TEMPLATES[name]
    saved = gl.compile(grammar, BYTES).to_bytes()
    again, copied = gl.Constraint.from_bytes(saved, BYTES).grammar, pickle.loads(pickle.dumps(grammar))
    assert again == copied == grammar
    assert hash(again) == hash(copied) == hash(grammar)
    assert repr(again) == repr(grammar)
    assert has_template(grammar)


def test_what_is_shown() -> None:
    assert repr(gl.Template("{{}} {name}: {age}", name=WORD, age=int)) == "Template('{{}} {name}: {age}')"
    assert gl.Template("{a}", a=WORD) != gl.Template("{a}", a=NUMBER) != gl.Template("{b}", b=NUMBER)


def test_names() -> None:
    one = gl.Template("{a} {b}", a=WORD, b=int)
    found = names_of(one)
    assert found is not None
    assert found.several == {None: False, "a": False, "b": False}
    assert found.schemas == 1
    rows = names_of(gl.Repeat(one))
    assert rows is not None
    assert rows.several == {None: True, "a": True, "b": True}
    assert rows.schemas == 1
    assert not has_template(without_names(gl.Repeat(one)))
    assert not has_template(WORD + NUMBER)
    assert not has_template(None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gl.Template("{a} {a}", a=WORD), "Template: the hole {a} stands there twice; give each its own name"),
        (
            lambda: gl.Template("{a} {b}", a=WORD),
            "Template: nothing says what the hole {b} may be; give b=, a grammar or a type",
        ),
        (lambda: gl.Template("{a}", a=WORD, b=WORD), "Template: b= is given, and the text has no hole {b}"),
        *(
            (
                lambda text=text: gl.Template(text, a=WORD),
                f"Template: {text} is no hole: it has a name of letters, digits and _, such as {{age}}; "
                "a brace of the text is written {{ or }}",
            )
            for text in ("{}", "{0}", "{a.b}", "{a[0]}", "{a b}", "{ a }")
        ),
        *(
            (
                lambda what=what: gl.Template(f"{{a{what}}}", a=WORD),
                f"Template: the hole {{a{what}}} has '{what}', and a hole is written as its grammar says; write {{a}}",
            )
            for what in ("!r", "!s", ":>3", ":{b}")
        ),
        (
            lambda: gl.Template("a } b"),
            "Template('a } b'): Single '}' encountered in format string; a brace of the text is written {{ or }}",
        ),
        (
            lambda: gl.Template("a { b"),
            "Template('a { b'): expected '}' before end of string; a brace of the text is written {{ or }}",
        ),
    ],
)
def test_holes_that_are_none(make, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "Template(a=...) takes a grammar such as gl.Regex or gl.JsonSchema, not NoneType"),
        ("x", "Template(a=...) takes a grammar such as gl.Regex or gl.JsonSchema, not str; see gl.Regex(text)"),
        (7, "Template(a=...) takes a grammar such as gl.Regex or gl.JsonSchema, not int"),
        (
            gl.Regex,
            "Template(a=...) takes a grammar such as gl.Regex or gl.JsonSchema, not type, a class; write gl.Regex(...)",
        ),
        (["a", 7], "Choices() takes strings; number 1 is int: 7"),
        ([True, False], "Choices() takes strings; number 0 is bool: True"),
    ],
    ids=str,
)
def test_holes_without_a_grammar(given, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        gl.Template("{a}", a=given)
    assert str(caught.value).startswith(message)
    with pytest.raises(TypeError, match="takes a text, not Regex"):
        Template(WORD)  # type: ignore[arg-type]


def test_choices_that_are_none() -> None:
    with pytest.raises(gl.GrammarError):
        gl.compile(gl.Template("{a}", a=[]), BYTES)
