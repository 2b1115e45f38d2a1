"""Objects as rows: a table of the keys that have an entry, what they imply, and the languages of all other keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import EVERY_STRING, Language, Node, ObjectShape
from grammarlm.grammars.json_schema.strings.languages import Languages
from grammarlm.grammars.json_schema.strings.strings import is_text
from grammarlm.layout.json import FIRST_OBLIGATION, INLINE, MOST_REQUIRED, Object
from grammarlm.masks.machines.json.languages import SchemaLanguages

from .nodes import NodeRows
from .template import TEMPLATE_AT, bound

DEPENDENCIES = ("dependencies", "dependentRequired", "dependentSchemas")
MOST_PATTERNS = 3  # patterns of keys of which all combinations are checked


class OtherKeys(NamedTuple):
    """The keys without an entry: as an object's row has them."""

    node: int  # of their values; -1: there are none, -2: by case
    language: int = 0  # the start of their language
    cases: int = 0  # where the nodes of the cases are
    default: int = 0  # the case of most keys, from 1
    case_count: int = 0  # number of cases


class ObjectRows:
    """The objects of one program."""

    def __init__(
        self, rows: list[int], blob: bytearray, texts: SchemaLanguages, nodes: NodeRows, first_names: tuple[str, ...]
    ):
        """`first_names`: keys that come first, in this order, whatever the schema's is."""
        self._rows, self._blob, self._texts, self._nodes = rows, blob, texts, nodes
        self._turns = {name: turn for turn, name in enumerate(first_names)}

    def sort(self, names: list[str]) -> None:
        """Moves the keys that come first to the front; the others keep their order."""
        turns = self._turns
        if turns:
            names.sort(key=lambda name: turns.get(name, len(turns)))

    def row(self, shape: ObjectShape, node: Node) -> int:
        _check_required(len(shape.required), node.pointer)  # before tables of all of them are made
        names = [name for name in shape.properties if is_text(name)]
        self.sort(names)
        if not names and _is_any_object(shape):
            return TEMPLATE_AT["object"]
        declared = len(names)
        few, languages = self._few_names(shape, declared)
        names += few
        languages = _without_words(languages, names)
        children = [
            self._nodes.row(shape.properties[name] if name in shape.properties else few[name]) for name in names
        ]
        others = self._others(languages)
        available = self._available(shape, languages if others.node != -1 else [])
        bounds = bound(shape.minimum), bound(shape.maximum)
        if shape.obligations and len(names) >= FIRST_OBLIGATION:
            raise UnsupportedFeature(
                f"a rule to be broken by a key that is not declared, in an object of {FIRST_OBLIGATION} properties or more",
                pointer=node.pointer,
            )
        obligations = [
            (mask << FIRST_OBLIGATION, self._nodes.row(values), self._nodes.row(meeting))
            for mask, values, meeting in shape.obligations
        ]
        return self.write(
            names,
            children,
            declared,
            shape.required,
            shape.implied,
            others,
            bounds,
            available,
            node.pointer,
            obligations,
        )

    def write(
        self,
        names: list[str],
        children: list[int],
        declared: int,
        required: Iterable[str],
        implications: Mapping[str, Iterable[str]],
        others: OtherKeys,
        bounds: tuple[int, int],
        available: int,
        pointer: str,
        obligations: Sequence[tuple[int, int, int]] = (),
    ) -> int:
        """The row of an object with an entry for each of `names`, of which the first `declared` have a rank of their
        own."""
        rows, count = self._rows, len(names)
        order = sorted(range(count), key=names.__getitem__)  # by code points, which is also the order of bytes
        entry_of = {names[i]: at for at, i in enumerate(order)}
        keys = self._keys(names, children, order, declared)
        needed = {entry_of[name] for name in required}
        implied = {entry_of[a]: {entry_of[b] for b in bs} for a, bs in implications.items() if a in entry_of}
        if implied:
            _close(needed, implied)
        if implied and available >= 0 and bounds[1] >= 0 and bounds[0] > len(needed):
            raise UnsupportedFeature(
                "dependencies together with minProperties and maxProperties in an object without other keys",
                pointer=pointer,
                keywords=DEPENDENCIES,
            )
        ranks = needed_at = implied_at = bits = usable = 0
        if count <= INLINE:
            ranks = len(rows)
            rows += _ranks(order, declared)
            bits = sum([1 << at for at in needed])
            implied_at = self._implied(implied)
            usable = sum([1 << at for at, i in enumerate(order) if children[i] >= 0])
        else:
            if implied:
                raise UnsupportedFeature(
                    f"dependencies in an object of more than {INLINE} properties",
                    pointer=pointer,
                    keywords=DEPENDENCIES,
                )
            _check_required(len(needed), pointer)
            needed_at = len(rows)
            rows += [len(needed), *sorted(needed, key=order.__getitem__)]
            bits = len(needed)
        obligations_at = 0
        if obligations:
            obligations_at = len(rows)
            rows += [len(obligations), *(word for way in obligations for word in way)]
            for mask, _, _ in obligations:
                bits |= mask
        rows += (
            count, keys, *others[:3], *bounds, bits, usable, implied_at, needed_at, available, ranks, *others[3:], obligations_at,
        )  # fmt: skip
        return len(rows) - Object.LENGTH

    def _available(self, shape: ObjectShape, others: list[tuple[Language, Node]]) -> int:
        """How many keys without an entry there are; -1 where they alone are enough for the least number of keys."""
        left = shape.minimum
        for language, child in others:
            if self._nodes.row(child) >= 0:
                beyond = language | {("words", tuple(shape.properties), False)} if shape.properties else language
                left -= self._texts.languages.count(beyond, 0, None, left) if left > 0 else 0
        return shape.minimum - left if left > 0 else -1

    def _keys(self, names: list[str], children: list[int], order: list[int], declared: int) -> int:
        """The entries of keys, sorted by bytes; a key's rank is its position in the schema's order.

        The keys after the declared ones share one rank, which stays open after each of them.
        """
        rows, blob = self._rows, self._blob
        table, at = len(rows), len(blob)
        for i in order:
            word = names[i].encode()
            blob += word
            rows += (at, len(word), children[i], i if i < declared else declared - 1)
            at += len(word)
        return table

    def _few_names(self, shape: ObjectShape, declared: int) -> tuple[dict[str, Node], list[tuple[Language, Node]]]:
        """Other keys of languages with few words get entries, since they can be used up. Also returns the languages
        left."""
        few: dict[str, Node] = {}
        left: list[tuple[Language, Node]] = []
        for language, child in shape.others:
            room = INLINE - declared - len(few)
            listed = next(iter(language))[1] if len(language) == 1 else ""
            if listed.__class__ is tuple and 0 < len(listed) <= room and next(iter(language))[2]:
                few.update({name: child for name in listed if name not in shape.properties and is_text(name)})
                continue
            if not any(holds for _, _, holds in language):
                left.append((language, child))  # all but some: there is always another
            elif self._texts.languages.count(language, 0, None, room + 1) <= room:
                few.update(
                    {name: child for name in self._texts.languages.words(language) if name not in shape.properties}
                )
            else:
                left.append((language, child))
        return few, left

    def _others(self, languages: list[tuple[Language, Node]]) -> OtherKeys:
        cases = [(language, self._nodes.row(child)) for language, child in languages]
        cases = [(language, child) for language, child in cases if child >= 0]
        if not cases:
            return OtherKeys(-1)
        if len(cases) == 1 and cases[0][0] == EVERY_STRING:
            return OtherKeys(cases[0][1])
        start = self._texts.states.number(
            tuple([self._texts.languages.term(language) for language, _ in cases]), counted=True
        )
        if start == 0:
            return OtherKeys(-1)
        default = 0
        for i, (language, _) in enumerate(cases):
            if not any(holds for _, _, holds in language):
                default = i + 1
        are_all = default != 0 and _are_all(self._texts.languages, [language for language, _ in cases])
        self._rows += [int(are_all), *(child for _, child in cases)]
        at = len(self._rows) - len(cases)
        return OtherKeys(-2, start, at, default, len(cases))

    def _implied(self, implied: dict[int, set[int]]) -> int:
        """Writes which keys each key implies, transitively; 0: none does."""
        if not implied:
            return 0
        at = len(self._rows)
        self._rows.append(len(implied))
        for key, direct in implied.items():
            needs = set(direct)
            _close(needs, implied)
            self._rows += [key, sum(1 << n for n in needs)]
        return at


def _check_required(count: int, pointer: str) -> None:
    if count > MOST_REQUIRED:
        raise UnsupportedFeature(
            f"{count:,} required properties in one object (at most {MOST_REQUIRED:,})",
            pointer=pointer,
            keywords=("required",),
        )


def _without_words(others: list[tuple[Language, Node]], names: list[str]) -> list[tuple[Language, Node]]:
    """Languages of other keys, without the exclusion of words that have entries."""
    listed = set(names)
    return [
        (frozenset(part for part in language if part[0] != "words" or part[2] or not listed.issuperset(part[1])), child)
        for language, child in others
    ]


def _is_any_object(shape: ObjectShape) -> bool:
    is_counted = shape.minimum > 0 or shape.maximum is not None
    return not is_counted and [key for key, _ in shape.others] == [EVERY_STRING] and shape.others[0][1].is_anything


def _are_all(languages: Languages, cases: list[Language]) -> bool:
    """Does every key belong to one of these languages, or is it a word that each of them excludes? Decided only for
    few patterns."""
    known = {frozenset([p for p in language if p[0] != "words" or p[2]]) for language in cases}
    parts = sorted({(kind, text) for language in known for kind, text, _ in language}, key=str)
    if len(parts) > MOST_PATTERNS or any(len(language) != len(parts) for language in known):
        return False
    ways = [
        frozenset([(*one, sign) for one, sign in zip(parts, signs, strict=True)])
        for signs in product((True, False), repeat=len(parts))
    ]
    return all(way in known or languages.is_empty(way) for way in ways)


def _close(needed: set[int], implied: dict[int, set[int]]) -> None:
    """Adds what the needed keys imply (transitive closure)."""
    queue = list(needed)
    for key in queue:
        for more in implied.get(key, ()):
            if more not in needed:
                needed.add(more)
                queue.append(more)


def _ranks(order: list[int], declared: int) -> list[int]:
    """For each rank the bits of the keys of that rank or later, then zeros; keys after the declared ones share a rank."""
    at_rank = [0] * (declared + 1)
    for at, rank in enumerate(order):
        at_rank[min(rank, declared)] |= 1 << at
    found, later = [0] * (len(order) + 1 - declared), 0
    for bits in reversed(at_rank):
        later |= bits
        found.append(later)
    return found[::-1]
