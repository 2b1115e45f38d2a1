"""Objects: reading the keywords about them, conjunction, opposites.

Other keys than the declared ones are sorted by languages that exclude each other: for patterns P and Q these are P without Q, Q
without P, both, and neither (what `additionalProperties` is about). So a key has exactly one node, which is a conjunction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...errors import GrammarError
from .parts import ANY_OBJECT, ANY_OTHERS, ANYTHING, NOTHING, OBJECTS, Evaluated, LooseObject, Work, both_evaluated
from .shapes import EVERY_STRING, Language, Part, StringShape
from .simplify import simplified

if TYPE_CHECKING:
    from .atoms import SchemaAtom
    from .working import Normaliser

Others = tuple[tuple[Language, Work], ...]


def count_of(schema: dict[str, Any], keyword: str, pointer: str) -> int | None:
    """The value of minItems and its kind; None where there is none."""
    value = schema.get(keyword)
    if value is None:
        if keyword in schema:
            raise GrammarError(
                f"{pointer}/{keyword}: a whole number is expected, not null", pointer=f"{pointer}/{keyword}"
            )
        return None
    if value.__class__ is not int:
        if isinstance(value, bool | str | list | dict) or value != int(value):
            raise GrammarError(
                f"{pointer}/{keyword}: a whole number is expected, not {value!r}", pointer=f"{pointer}/{keyword}"
            )
        value = int(value)
    return max(value, 0) if keyword.startswith("min") else value


def mapping(schema: dict[str, Any], keyword: str, pointer: str) -> dict[str, Any]:
    value = schema.get(keyword)
    if value is None and keyword not in schema:
        return {}
    if not isinstance(value, dict):
        raise GrammarError(f"{pointer}/{keyword}: an object is expected, not {value!r}", pointer=f"{pointer}/{keyword}")
    return value


def required_of(schema: dict[str, Any], pointer: str) -> list[str]:
    value = schema.get("required")
    if value is None or isinstance(value, bool):  # draft 3 said "required": true beside a property
        return []
    return names_of(value, f"{pointer}/required")


def names_of(value: Any, pointer: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise GrammarError(f"{pointer}: a list of names is expected, not {value!r}", pointer=pointer)
    return value


def implications(schema: dict[str, Any], atom: SchemaAtom) -> dict[str, frozenset[str]]:
    """dependentRequired, and the lists in `dependencies`."""
    found: dict[str, frozenset[str]] = {}
    for keyword in ("dependentRequired", "dependencies"):
        if keyword not in schema or keyword not in atom.resource.bits:
            continue
        for name, needed in mapping(schema, keyword, atom.pointer).items():
            if isinstance(needed, str):  # draft 3
                needed = [needed]  # noqa: PLW2901
            if keyword == "dependencies" and not isinstance(needed, list):
                continue
            listed = names_of(needed, f"{atom.pointer}/{keyword}/{name}")
            if listed:
                found[name] = found.get(name, frozenset()) | frozenset(listed)
    return found


def read(n: Normaliser, atom: SchemaAtom, track: bool) -> LooseObject:
    """The shape of the plain keywords of a schema."""
    schema, pointer = atom.schema, atom.pointer
    child = n.child
    properties: dict[str, Work] = {}
    declared = schema.get("properties")
    if declared is not None:
        if declared.__class__ is not dict:
            mapping(schema, "properties", pointer)
        for name, below in declared.items():
            properties[name] = child(below, atom, "properties", name)
    rest = ANYTHING
    if "additionalProperties" in schema:
        rest = child(schema["additionalProperties"], atom, "additionalProperties")
    others: Others = ANY_OTHERS if rest is ANYTHING else () if rest is NOTHING else ((EVERY_STRING, rest),)
    patterns = schema.get("patternProperties")
    if patterns:
        found = [
            (n.pattern(p, atom), child(below, atom, "patternProperties", p))
            for p, below in mapping(schema, "patternProperties", pointer).items()
        ]
        others = sort_out(n, found, rest)
        for name, node in properties.items():
            for language, more in found:
                if n.has_key(language, name):
                    node = n.meet(node, more)  # noqa: PLW2901
            properties[name] = node
    shape = LooseObject(properties, others)
    if "required" in schema:
        needed = required_of(schema, pointer)
        if needed:
            shape.required = frozenset(needed)
            mention(n, shape, needed)
    shape.minimum = count_of(schema, "minProperties", pointer) or 0
    shape.maximum = count_of(schema, "maxProperties", pointer)
    implied = implications(schema, atom)
    if implied:
        shape.implied = implied
        mention(n, shape, [name for key, needed in implied.items() for name in (key, *sorted(needed))])
    if track:
        names = frozenset(declared or ())
        shape.evaluated = Evaluated(names, frozenset(patterns or ()), "additionalProperties" in schema)
    return shape


def node_of(n: Normaliser, others: Others, name: str) -> Work:
    """The node of a key that is not declared."""
    for language, node in others:
        if not language or n.has_key(language, name):
            return node
    return NOTHING


def mention(n: Normaliser, shape: LooseObject, names: Iterable[str]) -> None:
    """Makes properties of names that are not; only before the shape is shared."""
    new = [name for name in names if name not in shape.properties]
    for name in new:
        if name not in shape.properties:
            shape.properties[name] = node_of(n, shape.others, name)
    if new:
        shape.tail |= frozenset(new)


def sort_out(n: Normaliser, patterns: list[tuple[Language, Work]], rest: Work) -> Others:
    """Languages that exclude each other, for patterns that need not. Most do: only those that overlap are cut."""
    cases: list[tuple[Language, Work]] = []
    done: list[Part] = []
    for (part,), node in patterns:
        if node is ANYTHING and rest is ANYTHING:
            continue
        beside = {other for other in done if not n.languages.is_empty(frozenset((part, other)))}
        refined: list[tuple[Language, Work]] = []
        for language, met in cases:
            if not any(other in beside for other in language):
                refined.append((language, met))
                continue
            inside, outside = language | {part}, language | {_not(part)}
            if n.languages.is_empty(inside):
                refined.append((language, met))
            elif n.languages.is_empty(outside):  # what says nothing more is left out: languages stay short
                refined.append((language, n.meet(met, node)))
            else:
                refined += [(inside, n.meet(met, node)), (outside, met)]
        alone: Language = frozenset([part])
        for other in done:
            if other in beside and not n.languages.is_empty(alone | {other}):
                alone |= {_not(other)}
        if not n.languages.is_empty(alone):
            refined.append((alone, node))
        cases = refined
        done.append(part)
        n.tick()
        n.check_size(len(cases) - len(done), "patternProperties that overlap")
    others = frozenset(_not(part) for part in done)
    if rest is not NOTHING and not n.languages.is_empty(others):
        cases.append((others, rest))
    return tuple((language, node) for language, node in cases if node is not NOTHING)


def _not(part: Part) -> Part:
    return part[0], part[1], not part[2]


def restrict_names(n: Normaliser, shape: LooseObject, strings: list[StringShape]) -> LooseObject:
    """`propertyNames`: only keys that one of the strings' shapes admits."""
    properties = {
        name: node if any(n.has_string(s, name) for s in strings) else NOTHING
        for name, node in shape.properties.items()
    }
    languages = disjoint(n, [language_of(s) for s in strings])
    return shape.copy(
        properties=properties, others=meet_others(n, shape.others, tuple((lang, ANYTHING) for lang in languages))
    )


def language_of(shape: StringShape) -> Language:
    """A shape's strings as a language: lengths become a pattern."""
    if shape.values is not None:
        return frozenset([("words", shape.values, True)])
    language = shape.language
    if shape.minimum or shape.maximum is not None:
        high = "" if shape.maximum is None else shape.maximum
        language |= {("pattern", f"^[\\s\\S]{{{shape.minimum},{high}}}$", True)}
    return language


def disjoint(n: Normaliser, languages: list[Language]) -> list[Language]:
    """The same union, without overlaps."""
    done: list[Language] = []
    for language in languages:
        pieces = [language]
        for earlier in done:
            pieces = [piece for old in pieces for piece in _minus(n, old, earlier)]
        done += pieces
    return done


def _minus(n: Normaliser, language: Language, removed: Language) -> list[Language]:
    """language without removed: each part of `removed` in turn is what a string fails first."""
    pieces = []
    sofar = language
    for part in sorted(removed, key=str):
        piece = sofar | {_not(part)}
        if part not in sofar and not n.languages.is_empty(piece):
            pieces.append(piece)
        sofar |= {part}
    return pieces


def meet_others(n: Normaliser, a: Others, b: Others) -> Others:
    if a is b or b is ANY_OTHERS:
        return a
    if a is ANY_OTHERS:
        return b
    found = []
    for language_a, node_a in a:
        for language_b, node_b in b:
            node = n.meet(node_a, node_b)
            if node is NOTHING:
                continue
            language = language_a | language_b
            if language_a and language_b and language_a != language_b and n.languages.is_empty(language):
                continue
            found.append((language, node))
    n.check_size(len(found) - len(a) - len(b), "key patterns that overlap")
    return tuple(found)


def both(n: Normaliser, a: LooseObject, b: LooseObject) -> LooseObject | None:
    """What is in both; None where that is certainly nothing."""
    if a is ANY_OBJECT or b is ANY_OBJECT:
        return b if a is ANY_OBJECT else a
    minimum = max(a.minimum, b.minimum)
    maximum = b.maximum if a.maximum is None else a.maximum if b.maximum is None else min(a.maximum, b.maximum)
    required = a.required | b.required
    if maximum is not None and max(minimum, len(required)) > maximum:
        return None
    mine, theirs = a.properties, b.properties
    for name in required:  # most of what excludes each other does so here
        if name in mine:
            if name in theirs:
                if n.meet(mine[name], theirs[name]) is NOTHING:
                    return None
            elif not b.others:
                return None
        elif not a.others:
            return None
    properties = _both_properties(n, a, b)
    for name in required:
        if properties[name] is NOTHING:
            return None
    shape = LooseObject(properties, meet_others(n, a.others, b.others), required, minimum, maximum)
    if a.tail or b.tail:
        shape.tail = frozenset(
            name for name in a.tail | b.tail if _mentioned_only(a, name) and _mentioned_only(b, name)
        )
    if a.implied or b.implied:
        implied = dict(a.implied)
        for name, needed in b.implied.items():
            implied[name] = implied.get(name, frozenset()) | needed
        shape.implied = implied
    if a.some or b.some:
        shape.some = a.some + tuple(o for o in b.some if o not in a.some)
    shape.refusal = a.refusal or b.refusal
    if a.evaluated is not None or b.evaluated is not None:
        shape.evaluated = both_evaluated(a.evaluated, b.evaluated)
    elif _says_no_more(shape, a):
        return a
    return shape


def _says_no_more(met: LooseObject, a: LooseObject) -> bool:
    """Is the conjunction what a was before?"""
    return (
        len(met.required) == len(a.required)
        and met.minimum == a.minimum
        and met.maximum == a.maximum
        and met.others is a.others
        and len(met.some) == len(a.some)
        and met.refusal == a.refusal
        and len(met.tail) == len(a.tail)
        and met.properties == a.properties
        and met.implied == a.implied
    )


def _mentioned_only(shape: LooseObject, name: str) -> bool:
    return name in shape.tail or name not in shape.properties


def _both_properties(n: Normaliser, a: LooseObject, b: LooseObject) -> dict[str, Work]:
    """All properties of both, in order of appearance; what is only mentioned comes last."""
    mine, theirs = a.properties, b.properties
    if b.others is ANY_OTHERS and (not a.tail or len(b.tail) == len(theirs)):  # b has little to say
        properties = dict(mine)
        for name, node in theirs.items():
            other = mine.get(name)
            if other is None:
                other = ANYTHING if a.others is ANY_OTHERS else node_of(n, a.others, name)
            properties[name] = n.meet(other, node)
        return properties
    properties = {}
    late: list[str] = []
    for name, node in mine.items():
        other = theirs.get(name)
        if other is None:
            other = ANYTHING if b.others is ANY_OTHERS else node_of(n, b.others, name)
        if a.tail and name in a.tail:
            late.append(name)
        else:
            properties[name] = n.meet(node, other)
    for name, node in theirs.items():
        if name in properties:
            continue
        if b.tail and name in b.tail:
            late.append(name)
            continue
        other = mine.get(name)
        if other is None:
            other = ANYTHING if a.others is ANY_OTHERS else node_of(n, a.others, name)
        properties[name] = n.meet(other, node)
    for name in late:
        if name not in properties:
            first, second = mine.get(name), theirs.get(name)
            properties[name] = n.meet(
                node_of(n, a.others, name) if first is None else first,
                node_of(n, b.others, name) if second is None else second,
            )
    return properties


def mentioning(properties: dict[str, Work], required: Iterable[str] = (), **fields: Any) -> LooseObject:
    """A shape that says something about these keys without declaring them."""
    return LooseObject(properties, required=frozenset(required), tail=frozenset(properties), **fields)


def opposites(n: Normaliser, atom: SchemaAtom) -> list[LooseObject]:
    """Shapes that together hold all objects that break one of the plain keywords (propertyNames and schemas in dependencies
    are not plain).

    Of a required key and its schema one shape is made: the key is absent, or there with another value. What breaks a rule about a
    scalar comes first, and all others keep that rule: `oneOf` branches that differ in the value of a key then meet in few shapes.
    """
    schema, pointer = atom.schema, atom.pointer
    found: list[LooseObject] = []
    declared = mapping(schema, "properties", pointer)
    required = frozenset(required_of(schema, pointer))
    rules = [(name, n.child(below, atom, "properties", name)) for name, below in declared.items()]
    rules += [(name, ANYTHING) for name in required_of(schema, pointer) if name not in declared]
    simple = [n.is_scalar(node) for _, node in rules]
    order = sorted(range(len(rules)), key=lambda i: (not simple[i], rules[i][0] not in required))
    kept = LooseObject()
    for i in order:
        name, node = rules[i]
        negated = n.negate(node)
        if negated is NOTHING and name not in required:
            continue
        broken = mentioning({name: negated}, [] if name in required else [name])
        found.append(both(n, kept, broken) or broken)
        if simple[i]:
            kept = both(n, kept, mentioning({name: node}, [name] if name in required else [])) or kept
    found += _breaking_counts(n, atom, kept)
    found += _breaking_other_keys(n, atom, kept, declared)
    return found


def _breaking_counts(n: Normaliser, atom: SchemaAtom, kept: LooseObject) -> list[LooseObject]:
    """minProperties, maxProperties, dependentRequired."""
    schema, pointer = atom.schema, atom.pointer
    minimum, maximum = count_of(schema, "minProperties", pointer), count_of(schema, "maxProperties", pointer)
    found = []
    if minimum:
        found.append(LooseObject(maximum=minimum - 1))
    if maximum is not None:
        found.append(LooseObject(minimum=maximum + 1))
    for key, needed in implications(schema, atom).items():
        found += [mentioning({key: ANYTHING, name: NOTHING}, [key]) for name in sorted(needed) if name != key]
    return [shape for shape in (both(n, kept, broken) for broken in found) if shape]


def _breaking_other_keys(
    n: Normaliser, atom: SchemaAtom, kept: LooseObject, declared: dict[str, Any]
) -> list[LooseObject]:
    """patternProperties and additionalProperties: some key has to break them."""
    schema, pointer = atom.schema, atom.pointer
    found = []
    outside: set[tuple[str, Any, bool]] = set()
    for text, below in mapping(schema, "patternProperties", pointer).items():
        (part,) = language = n.pattern(text, atom)
        outside.add((part[0], part[1], False))
        negated = n.negate(n.child(below, atom, "patternProperties", text))
        if negated is not NOTHING:
            found.append(LooseObject(some=((language, negated, f"{pointer}/patternProperties"),)))
    if "additionalProperties" in schema:
        negated = n.negate(n.child(schema["additionalProperties"], atom, "additionalProperties"))
        if negated is not NOTHING:
            if declared:
                outside.add(("words", tuple(declared), False))
            found.append(LooseObject(some=((frozenset(outside), negated, f"{pointer}/additionalProperties"),)))
    return [shape for shape in (both(n, kept, broken) for broken in found) if shape]


def discharge(n: Normaliser, shape: LooseObject) -> list[LooseObject]:
    """Obligations turned into required keys, one shape a key that may serve; what only a key without a name of its own can
    serve stays an obligation: `some` of the result holds for keys that are not in `properties`."""
    done = [shape.copy(some=())]
    for obligation in shape.some:
        served: list[LooseObject] = []
        for old in done:
            served += _served(n, old, *obligation)
        n.check_size(len(served), "ways to break a rule about keys", obligation[2])
        done = simplified(OBJECTS, served) if len(served) > 1 else served
    return done


def _served(n: Normaliser, shape: LooseObject, language: Language, node: Work, pointer: str) -> list[LooseObject]:
    """The ways to have a key in the language with a value in the node; each key is there only where those before are not, if any
    value of theirs would do."""
    mentioned = [language, *(lang for lang, _ in shape.others)]
    named = [w for parts in mentioned for kind, text, _ in parts if kind == "words" for w in text]
    if any(name not in shape.properties for name in named):
        shape = shape.copy(properties=dict(shape.properties))
        mention(n, shape, named)
    candidates = [
        (name, n.meet(known, node), known)
        for name, known in shape.properties.items()
        if known is not NOTHING and n.has_key(language, name)
    ]
    if any(met is known and name in shape.required for name, met, known in candidates):
        return [shape]
    found: list[LooseObject] = []
    properties = shape.properties
    for name, met, known in candidates:
        if met is not NOTHING:
            found.append(shape.copy(properties={**properties, name: met}, required=shape.required | {name}))
        if met is known:
            properties = {**properties, name: NOTHING}
    shape = shape.copy(properties=properties)
    for lang, known in shape.others:
        met = n.meet(known, node)
        where = _unnamed(lang | language)
        if met is NOTHING or where is None:
            continue
        beyond = where | {("words", tuple(properties), False)}
        if not any(holds for _, _, holds in where) or not n.languages.is_empty(beyond):
            found.append(shape.copy(some=(*shape.some, (where, met, pointer))))
    return found


def _unnamed(language: Language) -> Language | None:
    """Without words, all of which are declared; None where the language is finite: all its keys are declared."""
    if any(kind == "words" and holds for kind, _, holds in language):
        return None
    return frozenset(part for part in language if part[0] != "words")
