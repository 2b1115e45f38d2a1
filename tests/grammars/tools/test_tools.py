"""Turns with calls, beside an oracle that tries every reading: which texts are taken, and what is read."""

import json
import random

import pytest

import grammarlm as gl
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.items.special_token import Token
from grammarlm.grammars.tools.read import CallReader, TextReader, read
from tests.counts import tiers
from tests.grammars.tools.layouts import LAYOUTS, vocabulary
from tests.grammars.tools.turns import TOOLS, accepts, random_turn, tools_of
from tests.oracles.tool_turns import VALIDATOR, Turns, Units, units

MODES = [{}, {"calls": "required"}, {"calls": "none"}, {"calls": "look_up"}, {"parallel": False}]


def pieces_of(text: Units, specials: tuple[str, ...]) -> list[str | Token]:
    return [Token(unit) if unit in specials else unit for unit in text]


def mutated(text: Units, specials: tuple[str, ...], chance: random.Random) -> Units:
    text = list(text)
    for _ in range(chance.choice([1, 1, 2])):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                del text[at : at + chance.choice([1, 1, 3, 10])]
            case 1:
                text.insert(at, chance.choice([*'\n{}"<>/,: a1', *specials]))
            case 2 if text:
                text[at % len(text)] = chance.choice([*'\n{}"<>,3', *specials])
            case 3:
                text[at:at] = text[at : at + 12]
            case _:
                text = text[:at]
    return text


@tiers("count", 30, 3000)
@pytest.mark.parametrize("has_specials", [True, False], ids=["tokens", "letters"])
@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.form.name)
def test_a_text_is_taken_where_one_reading_exists_and_is_read_so(layout, options, has_specials, count, record_property):
    chance = random.Random(f"{layout.form.name} {options} {has_specials}")
    specials = layout.specials if has_specials else ()
    thinks = layout.form.reasoning is not None and chance.random() < 0.5
    tools = tools_of(layout, reasoning=True if thinks else None, **options)
    constraint = gl.compile(tools, vocabulary(specials))
    mode = {"look_up": "one"}.get(options.get("calls", "any"), options.get("calls", "any"))
    schemas = {name: TOOLS[name] for name in TOOLS if mode != "one" or name == "look_up"}
    parallel = options.get("parallel", True)
    thought = "begun" if thinks else "none"
    oracle = Turns(layout.form, schemas, layout.rules, specials, mode=mode, parallel=parallel, thought=thought)
    taken = 0
    for number in range(count):
        text = units(random_turn(layout, chance, options, thinks), specials)
        if number % 3:
            text = mutated(text, specials, chance)
        readings = oracle.readings(text)
        assert accepts(constraint, text) == bool(readings), "".join(text)
        assert len(readings) < 2, "".join(text)
        if readings:
            taken += 1
            assert_read_as(tools, text, specials, *readings)
    record_property("cases", count)
    assert taken > count / 10


def layout_text(turn) -> str:
    """What the texts of the calls make together."""
    return (turn.tools.format.between or "").join(call.text for call in turn.calls)


def assert_read_as(tools: gl.Tools, text: Units, specials: tuple[str, ...], reading: tuple) -> None:
    pieces = pieces_of(text, specials)
    turn = read(tools, pieces, Specials(specials))
    calls = tuple((call.name, json.dumps(call.arguments, sort_keys=True)) for call in turn.calls)
    assert (turn.reasoning, turn.content, calls) == reading
    assert layout_text(turn) in "".join(text)
    reader = CallReader(tools, Specials(specials))
    assert [call for piece in pieces for call in reader.feed(piece)] == list(turn.calls)
    texts = TextReader(tools, Specials(specials))
    told = [texts.feed(piece) for piece in pieces]
    assert "".join(reasoning for reasoning, _ in told) == (turn.reasoning or "")
    assert turn.content.startswith("".join(content for _, content in told))


def test_a_text_is_told_while_it_is_written():
    look = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    tools = gl.Tools([look], format="hermes", reasoning=True)
    reader, text = TextReader(tools), "<think>\nOne <b> moment.\n</think>\n\nLet me look.\n<"
    told = [reader.feed(letter) for letter in text]
    assert "".join(reasoning for reasoning, _ in told) == read(tools, text).reasoning
    assert "".join(content for _, content in told) == "Let me look."  # what comes after it may be a call
    assert reader.feed("b> is bold") == ("", "\n<b> is bold")
    assert reader.feed('\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>') == ("", "")


def assert_not_read(tools: gl.Tools, text: Units, specials: tuple[str, ...]) -> None:
    """Refused, unless the arguments are the fault, or how they are spelled: reading does not look into them."""
    try:
        turn = read(tools, pieces_of(text, specials), Specials(specials))
    except ValueError:
        return
    faults = [not VALIDATOR(TOOLS[call.name]).is_valid(call.json) for call in turn.calls]
    assert any(faults), "".join(text)
