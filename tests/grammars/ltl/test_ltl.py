"""gl.Ltl (SELP): texts, masks, plans and canonical forms against the recursive definition and automata of obligations."""

import itertools
import random

import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.vocabularies import TokenList, every_byte
from tests.mask_bits import ids_of
from tests.oracles.ltl_traces import Formula, Traces, holds, random_formula, same_language, written
from tests.texts import accepts

ACTIONS = {"go": ("a",), "goal": ("b", "c"), "x y": ()}
LETTERS = [frozenset(names) for names in ACTIONS.values()]
TEXTS = list(ACTIONS)
SEPARATOR = ", "
BASE = every_byte(pieces=20)


def tokens_of() -> TokenList:
    """With tokens over the ends of actions and separators."""
    pieces = [b"go, ", b"go,", b", go", b"goal", b"al, g", b" y", b"y, x", b"x y, x y", b", ", b"go, go", b"oal,"]
    tokens = BASE.tokens + pieces
    return TokenList(tokens, BASE.stop_ids, BASE.special_ids, len(tokens) + 3)


TOKENS = tokens_of()
VOCAB = TOKENS.vocabulary()


def formulas(count: int, seed: str, deepest: int = 3) -> list[tuple[Formula, random.Random]]:
    found = []
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        found.append((random_formula(rng, rng.randint(1, deepest), "abc"), rng))
    return found


def compiled(f: Formula) -> gl.Constraint | None:
    """None where nothing satisfies the formula: then there must be nothing."""
    try:
        return gl.compile(gl.Ltl(written(f), ACTIONS, SEPARATOR), VOCAB)
    except gl.UnsatisfiableGrammar:
        traces = Traces(f, LETTERS)
        assert not traces.goes_on(traces.start), written(f)
        return None


@tiers("count, longest", (25, 4), (2_000, 5))
def test_selp_texts_are_what_the_definition_says(count: int, longest: int, record_property) -> None:
    met = {"texts": 0, "refused": 0}
    for f, _ in formulas(count, "texts", 4):
        constraint = compiled(f)
        for length in range(1, longest + 1):
            for trace in itertools.product(range(3), repeat=length):
                expected = holds(f, [LETTERS[letter] for letter in trace])
                met["texts"] += 1
                if constraint is None:
                    met["refused"] += 1
                    assert not expected, written(f)
                    continue
                text = SEPARATOR.join(TEXTS[letter] for letter in trace)
                assert accepts(constraint, text) is expected, (written(f), text)
    record_counts(record_property, met)
    assert met["refused"] < met["texts"] // 2


class Product:
    """Which beginnings of texts can be completed: cut into actions one by one, with an automaton beside."""

    def __init__(self, f: Formula):
        self.traces = Traces(f, LETTERS)

    def may_end(self, data: bytes) -> bool:
        return any(self.traces.accepts(state) for state in self._whole(data, self.traces.start))

    def _whole(self, data: bytes, state):
        for letter, text in enumerate(TEXTS):
            after = self.traces.after(state, letter)
            if data == text.encode():
                yield after
            elif data.startswith((text + SEPARATOR).encode()):
                yield from self._whole(data[len(text + SEPARATOR) :], after)

    def begins(self, data: bytes, state=None) -> bool:
        state = self.traces.start if state is None else state
        for letter, text in enumerate(TEXTS):
            after, whole = self.traces.after(state, letter), (text + SEPARATOR).encode()
            if data.startswith(whole):
                if self.begins(data[len(whole) :], after):
                    return True
            elif whole.startswith(data) and (
                self.traces.goes_on(after) or (len(data) <= len(text) and self.traces.accepts(after))
            ):
                return True
        return False


@tiers("count", 12, 500)
def test_selp_masks_are_a_search_over_the_product(count: int, record_property) -> None:
    masks = 0
    texts = {i: t for i, t in enumerate(TOKENS.tokens) if t and i not in TOKENS.stop_ids + TOKENS.special_ids}
    for f, rng in formulas(count, "masks"):
        constraint = compiled(f)
        if constraint is None:
            continue
        oracle, mask = Product(f), gl.allocate_mask(1, TOKENS.size)
        for _ in range(3):
            matcher, read = constraint.matcher(), b""
            for _ in range(12):
                matcher.fill_mask(mask)
                allowed = set(ids_of(mask[0]))
                expected = {i for i, data in texts.items() if oracle.begins(read + data)}
                if oracle.may_end(read):
                    expected |= set(TOKENS.stop_ids)
                assert allowed == expected, (written(f), read)
                masks += 1
                following = sorted(allowed - set(TOKENS.stop_ids))
                if not following:
                    break
                token = rng.choice([i for i in following if len(texts[i]) > 1] or following)
                assert matcher.advance(token)
                read += texts[token]
    record_counts(record_property, {"masks": masks})
    assert masks > count


LINES = gl.Lark("""
    start: action ("," " " action)*
    action: "go" | "goal" | "x y"
""")
AROUND = {
    "alone": lambda ltl: ltl,
    "as a part": lambda ltl: (
        "Plan: " + gl.Capture("plan", ltl) + "; " + gl.JsonSchema({"type": "boolean"}, whitespace="")
    ),
    "beside Lark": lambda ltl: LINES & ltl,
}


@pytest.mark.parametrize("around", AROUND)
@tiers("count", 8, 500)
def test_selp_plans_close_within_their_tokens(count: int, around: str) -> None:
    """Drawn at random to their end."""
    closed = 0
    for f, rng in formulas(count, "plans"):
        if compiled(f) is None:
            closed += 1
            continue
        constraint = gl.compile(AROUND[around](gl.Ltl(written(f), ACTIONS, SEPARATOR)), VOCAB)
        fewest = constraint.matcher().min_tokens_left
        matcher, read = constraint.matcher(max_tokens=fewest + rng.randint(0, 12)), b""
        mask = gl.allocate_mask(1, TOKENS.size)
        while True:
            matcher.fill_mask(mask)
            allowed = ids_of(mask[0])
            assert len(allowed), (written(f), read)
            token = int(rng.choice(list(allowed)))
            assert matcher.advance(token)
            if matcher.is_finished:
                break
            read += TOKENS.tokens[token]
        plan = read.decode().removeprefix("Plan: ").partition("; ")[0] if around == "as a part" else read.decode()
        assert holds(f, [frozenset(ACTIONS[text]) for text in plan.split(SEPARATOR)]), (written(f), plan)
        closed += 1
    assert closed == count


def test_twenty_goals_are_closed_although_they_have_a_million_states() -> None:
    actions = [f"visit room {number}" for number in range(20)]
    goals = " & ".join(f'F "{action}"' for action in actions)
    constraint = gl.compile(gl.Ltl(goals, actions), VOCAB)
    matcher = constraint.matcher()
    assert matcher.min_tokens_left <= sum(map(len, actions)) + 19
    assert matcher.advance_bytes("\n".join(actions[1:]).encode())
    assert not matcher.is_accepting
    assert matcher.advance_bytes(b"\nvisit room 0")
    assert matcher.is_accepting
    with pytest.raises(gl.UnsatisfiableGrammar, match="no sequence of these actions"):
        gl.compile(gl.Ltl(f'{goals} & G !"{actions[7]}"', actions), VOCAB)


@tiers("count", 60, 2_000)
def test_selp_canonical_forms_are_equal_iff_the_automata_are(count: int, record_property) -> None:
    met = {"equal": 0, "different": 0}
    valuations = [frozenset(itertools.compress("abc", bits)) for bits in itertools.product([0, 1], repeat=3)]
    for f, rng in formulas(count, "canonical"):
        g = rewritten(f, rng) if rng.random() < 0.7 else random_formula(rng, 2, "abc")
        for actions, letters in ((ACTIONS, LETTERS), (None, valuations)):
            is_same = same_language(Traces(f, letters), Traces(g, letters))
            forms = {gl.Ltl(written(each), actions, SEPARATOR).canonical for each in (f, g)}
            assert (len(forms) == 1) is is_same, (written(f), written(g), actions)
            met["equal" if is_same else "different"] += 1
    record_counts(record_property, met)
    assert min(met.values()) > count // 4


def rewritten(f: Formula, rng: random.Random) -> Formula:
    """Often the same, by a law; sometimes one that only looks like it."""
    if len(f) == 1 or f[0] == "p":
        return f
    parts = [rewritten(part, rng) for part in f[1:]]
    laws = {
        "F": [("U", ("true",), *parts), ("!", ("G", ("!", *parts))), ("|", *parts, ("X", ("F", *parts)))],
        "G": [("R", ("false",), *parts), ("W", *parts, ("false",)), ("&", *parts, ("X", ("G", *parts)))],
        "X": [("!", ("N", ("!", *parts))), ("&", ("N", *parts), ("!", ("last",))), ("N", *parts)],
        "N": [("|", ("last",), ("X", *parts)), ("!", ("X", ("!", *parts)))],
    }.get(f[0], [(f[0], *parts), (f[0], *reversed(parts))])
    return rng.choice(laws)


def test_canonical_forms_do_not_depend_on_what_nothing_depends_on() -> None:
    form = gl.Ltl("G (a -> X b)").canonical
    assert form == gl.Ltl("G (!a | X b) & (c | !c)").canonical != gl.Ltl("G (a -> N b)").canonical
    assert gl.Ltl("F (a & !a)").canonical == gl.Ltl("false").canonical == gl.Ltl("X true & last").canonical
    one, other = (gl.Ltl("F go", order, ", ").canonical for order in (["go", "stay"], ["stay", "go"]))
    assert one == other != gl.Ltl("F go", ["go", "wait"]).canonical


@pytest.mark.parametrize(
    ("formula", "means"),
    [
        ("a U b U c", "a U (b U c)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a & b | c & a", "(a & b) | (c & a)"),
        ("a | b -> c <-> a", "((a | b) -> c) <-> a"),
        ("!a U b & c", "((!a) U b) & c"),
        ("G!a&Fb", "(G (!a)) & Fb"),
        ("X N F G a R b", "(X (N (F (G a)))) R b"),
        ('"a" W "a\\"b"', '(a) W ("a\\"b")'),
    ],
)
def test_precedence(formula: str, means: str) -> None:
    assert gl.Ltl(formula).canonical == gl.Ltl(means).canonical


def test_actions_may_be_grammars() -> None:
    number = gl.Regex("move [0-9]{1,3}")
    grammar = gl.Ltl("move U (home & last)", {number: "move", gl.Choices(["dock", "land"]): "home", "wait": ()})
    constraint = gl.compile(grammar, VOCAB)
    for text, is_right in (
        ("move 1\nmove 20\nland", True),
        ("dock", True),
        ("move 1\nwait\ndock", False),
        ("move 1", False),
        ("move 1234\ndock", False),
        ("dock\nmove 1", False),
    ):
        assert accepts(constraint, text) is is_right, text


def test_a_plan_is_saved_with_its_actions() -> None:
    grammar = "<" + gl.Ltl("F b", {gl.Regex("[a-z]"): "b", "10": ()}, separator=" ") + ">"
    constraint = gl.compile(grammar, VOCAB)
    assert gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB).grammar == grammar
    other = gl.compile("<" + gl.Ltl("F b", {gl.Regex("[a-z]"): "b", "11": ()}, separator=" ") + ">", VOCAB)
    assert constraint.fingerprint != other.fingerprint
    assert repr(gl.Ltl("F b", ["b"], ", ")) == "Ltl('F b', 1 actions, separator=', ')"


WRONG = {
    "no formula": (lambda: gl.Ltl("", ["a"]), gl.GrammarError, "at its end, position 0: a formula is missing"),
    "no operand": (lambda: gl.Ltl("a & ", ["a"]), gl.GrammarError, "at its end, position 4: a formula is missing"),
    "two in a row": (lambda: gl.Ltl("a a", ["a"]), gl.GrammarError, "at 'a', position 2: the formula has ended"),
    "a bracket": (lambda: gl.Ltl("(a | a", ["a"]), gl.GrammarError, r"the bracket `\)` is missing"),
    "a quote": (lambda: gl.Ltl('F "a', ["a"]), gl.GrammarError, "position 2: a formula is missing"),
    "deep": (lambda: gl.Ltl("(" * 500 + "a" + ")" * 500, ["a"]), gl.LimitExceeded, "brackets or operators within"),
    "deep signs": (lambda: gl.Ltl("X" + " X" * 500 + " a", ["a"]), gl.LimitExceeded, "brackets or operators within"),
    "long": (lambda: gl.Ltl("a & " * 20_000 + "a", ["a"]), gl.LimitExceeded, "80,001 characters"),
    "many clauses": (
        lambda: gl.Ltl(
            " & ".join(f"(F a{i} | G b{i})" for i in range(12)),
            {"x": [f"b{i}" for i in range(12)], "y": [f"a{i}" for i in range(12)]},
        ),
        gl.LimitExceeded,
        "more than 500 clauses",
    ),
    "unknown": (lambda: gl.Ltl("F b", ["a", "c"]), gl.GrammarError, "no action has the proposition 'b'.*'a', 'c'"),
    "unsatisfiable": (lambda: gl.Ltl("a & X b & last", ["a", "b"]), gl.UnsatisfiableGrammar, "no sequence of these"),
    "no actions": (lambda: gl.Ltl("F a"), gl.GrammarError, "has no actions"),
    "empty actions": (lambda: gl.Ltl("F a", []), gl.GrammarError, "actions is empty"),
    "an empty action": (lambda: gl.Ltl("F a", ["a", ""]), gl.GrammarError, "an action is the empty text"),
    "a grammar that may be empty": (lambda: gl.Ltl("F a", {gl.Regex("a*"): "a"}), gl.GrammarError, "may be the empty"),
    "twice": (lambda: gl.Ltl("F a", ["a", "b", "a"]), gl.GrammarError, "the action 'a' is given twice"),
    "overlapping": (lambda: gl.Ltl("F a", {"ab": "a", gl.Regex("a.?"): "b"}), gl.GrammarError, "overlaps with another"),
    "overlapping grammars": (
        lambda: gl.Ltl("F a", {gl.Regex("a[bc]"): "a", gl.Regex("[ab]c"): "b"}),
        gl.GrammarError,
        "overlaps with another",
    ),
    "the separator": (lambda: gl.Ltl("F a", {"x\ny": "a"}), gl.GrammarError, "holds the separator"),
    "a part of it": (lambda: gl.Ltl("F a", {"x-": "a"}, "--"), gl.GrammarError, "its end and the separator do"),
    "a grammar with it": (lambda: gl.Ltl("F a", {gl.Regex("(?s)a.b"): "a"}), gl.GrammarError, "holds the separator"),
    "no separator": (lambda: gl.Ltl("F a", ["a"], separator=""), gl.GrammarError, "separator is empty"),
    "a stack": (lambda: gl.Ltl("F a", {gl.Lark('start: "a"'): "a"}), gl.UnsupportedFeature, "the action Lark"),
    "a schema": (lambda: gl.Ltl("F a", {gl.JsonSchema(True): "a"}), gl.UnsupportedFeature, "the action JsonSchema"),
    "a name in it": (lambda: gl.Ltl("F a", {gl.Capture("b", "c"): "a"}), gl.UnsupportedFeature, "holds Capture"),
    "one text": (lambda: gl.Ltl("F a", "a"), TypeError, "not str"),
    "a list of grammars": (lambda: gl.Ltl("F a", [gl.Regex("a")]), TypeError, "a list holds texts"),
    "a number as proposition": (lambda: gl.Ltl("F a", {"a": [1]}), TypeError, "it takes a string"),
    "a number as propositions": (lambda: gl.Ltl("F a", {"a": 1}), TypeError, "give a name, several, or"),
    "no text": (lambda: gl.Ltl(b"F a", ["a"]), TypeError, "a formula as a string"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    make, kind, says = WRONG[name]
    with pytest.raises(kind, match=says) as caught:
        gl.compile(make(), VOCAB)
    assert len(str(caught.value)) <= 500


def test_too_many_propositions_for_a_canonical_form() -> None:
    with pytest.raises(gl.LimitExceeded, match="11 propositions"):
        _ = gl.Ltl(" & ".join(f"F p{number}" for number in range(11))).canonical
    with pytest.raises(gl.GrammarError, match="no action has the proposition 'b'"):
        _ = gl.Ltl("b", ["a"]).canonical
