"""Values out of shapes: for each alternative of each node one, where it is promised that there is one.

A node's height is the least depth of a value in it; samples below the first levels take alternatives of least height, so they end.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from grammarlm.grammars.json_schema.shapes.shapes import (
    ArrayShape,
    Language,
    Literal,
    Node,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.oracles.json_shapes import admits
from tests.oracles.json_values import identity

ENDLESS = 10**9


class Unknown(Exception):
    """No sample was found by the simple means here; that says nothing about the shape."""


class Sampler:
    def __init__(self, root: Node, languages: Languages, rng: random.Random):
        self.languages, self.rng = languages, rng
        self.nodes = reachable(root)
        self.heights: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for node in self.nodes:
                height = min((self.height(shape) for shape in node.alternatives), default=ENDLESS)
                if height < self.heights.get(id(node), ENDLESS):
                    self.heights[id(node)] = height
                    changed = True

    def height(self, shape: Shape) -> int:
        below = [0]
        if isinstance(shape, ObjectShape):
            below += [self._of(shape.properties[name]) for name in shape.required]
            if shape.minimum > len(shape.required):
                candidates = [*shape.properties.values(), *(node for _, node in shape.others)]
                below.append(min((self._of(node) for node in candidates if node.alternatives), default=ENDLESS))
        elif isinstance(shape, ArrayShape):
            needed = max(shape.minimum, sum(low for low, _ in shape.contains))
            for i in range(min(needed, len(shape.prefix) + 1)):
                ways = shape.prefix[i] if i < len(shape.prefix) else shape.rest
                below.append(min((self._of(way.node) for way in ways), default=0))
        return max(below) + 1

    def _of(self, node: Node) -> int:
        return self.heights.get(id(node), ENDLESS)

    def value(self, node: Node, depth: int = 0) -> Any:
        shapes = list(node.alternatives)
        if depth > 3:
            least = min(self.height(shape) for shape in shapes)
            shapes = [shape for shape in shapes if self.height(shape) == least]
        self.rng.shuffle(shapes)
        for shape in shapes:
            try:
                return self.of(shape, depth)
            except Unknown:
                continue
        raise Unknown

    def of(self, shape: Shape, depth: int = 0) -> Any:
        if isinstance(shape, Literal):
            return {"null": None, "true": True, "false": False}[shape.text]
        if isinstance(shape, StringShape):
            return self.string(shape)
        if isinstance(shape, NumberShape):
            return self.number(shape)
        return self.object(shape, depth) if isinstance(shape, ObjectShape) else self.array(shape, depth)

    def string(self, shape: StringShape) -> str:
        if shape.values is not None:
            return self.rng.choice(shape.values)
        for _ in range(30):
            text = self.word(shape.language, shape.minimum, shape.maximum)
            if text is not None:
                return text
        raise Unknown

    def word(self, language: Language, low: int = 0, high: int | None = None) -> str | None:
        """A random walk through the automaton that tries to end between the lengths."""
        languages, rng = self.languages, self.rng
        here, data = languages.term(language), b""
        for _ in range(400):
            length = sum(byte & 0xC0 != 0x80 for byte in data)
            if high is not None and length > high:
                return None
            edges = [(bits, to) for bits, to in languages.algebra.edges(here) if not languages.is_dead(to)]
            if here.nullable and length >= low and (not edges or rng.random() < 0.4 or length == high):
                return data.decode()
            if not edges:
                return None
            bits, here = rng.choice(edges)
            choices = [byte for byte in range(256) if bits >> byte & 1]
            printable = [byte for byte in choices if 48 <= byte < 123]
            data += bytes([rng.choice(printable or choices)])
        return None

    def number(self, shape: NumberShape) -> Any:
        low, high = shape.low, shape.high
        steps = [*shape.multiples, *([Fraction(1)] if shape.integer else [])]
        step = steps[0] if steps else Fraction(1, 2)
        for other in steps[1:]:
            step = Fraction(math.lcm(step.numerator, other.numerator), math.gcd(step.denominator, other.denominator))
        start = low if low is not None else high if high is not None else Fraction(0)
        first = math.ceil(start / step)
        around = [k * step for k in range(first - 40, first + 41)]
        around += [start + Fraction(k, 7) for k in range(-3, 4)]
        if low is not None and high is not None:
            around += [low, high, (low + high) / 2, low + (high - low) / 3]
        self.rng.shuffle(around)
        for value in around:
            plain = int(value) if value.denominator == 1 else value
            node = Node((shape,))
            if admits(node, plain, self.languages):
                return plain
            if admits(node, value, self.languages):
                return value
        raise Unknown

    def object(self, shape: ObjectShape, depth: int) -> dict[str, Any]:
        rng = self.rng
        for attempt in range(20):
            names = set(shape.required)
            optional = [name for name, node in shape.properties.items() if name not in names and node.alternatives]
            rng.shuffle(optional)
            if depth > 3:
                optional.sort(key=lambda name: self._of(shape.properties[name]))
            wanted = max(shape.minimum, len(names) + (rng.randint(0, 3) if depth < 3 and attempt < 15 else 0))
            nodes = {name: shape.properties[name] for name in names}
            for name in optional:
                if len(nodes) < wanted:
                    nodes[name] = shape.properties[name]
                    for other in self.closure(shape, name):
                        nodes[other] = shape.properties[other]
            for _ in range(4 * wanted):
                if len(nodes) >= wanted or not shape.others:
                    break
                language, node = rng.choice(shape.others)
                word = self.word(language)
                if word is not None and word not in shape.properties and word not in nodes:
                    nodes[word] = node
            try:
                value = {name: self.value(node, depth + 1) for name, node in nodes.items()}
            except Unknown:
                continue
            if admits(Node((shape,)), value, self.languages):
                return value
        raise Unknown

    def closure(self, shape: ObjectShape, name: str) -> set[str]:
        found, waiting = {name}, [name]
        while waiting:
            for other in shape.implied.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def array(self, shape: ArrayShape, depth: int) -> list[Any]:
        rng = self.rng
        least = max(shape.minimum, sum(low for low, _ in shape.contains))
        if least > 50:
            raise Unknown
        for _ in range(40):
            length = rng.randint(shape.minimum, least + (2 + len(shape.prefix) if depth < 3 or shape.contains else 0))
            if shape.maximum is not None:
                length = min(length, shape.maximum)
            value: list[Any] = []
            for i in range(length):
                ways = shape.prefix[i] if i < len(shape.prefix) else shape.rest
                for _ in range(8):
                    item = self.value(rng.choice(ways).node, depth + 1)
                    if not shape.unique or identity(item) not in {identity(other) for other in value}:
                        break
                value.append(item)
            if admits(Node((shape,)), value, self.languages):
                return value
        raise Unknown


def reachable(root: Node) -> list[Node]:
    found, seen = [root], {id(root)}
    for node in found:  # it grows
        for shape in node.alternatives:
            below: list[Node] = []
            if isinstance(shape, ObjectShape):
                below = [*shape.properties.values(), *(child for _, child in shape.others)]
            elif isinstance(shape, ArrayShape):
                below = [way.node for ways in (*shape.prefix, shape.rest) for way in ways]
            for child in below:
                if id(child) not in seen:
                    seen.add(id(child))
                    found.append(child)
    return found
