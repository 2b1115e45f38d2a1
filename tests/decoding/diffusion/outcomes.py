"""All outcomes of something random, with their exact probabilities: it is run once for each way its choices can go."""

from collections import Counter


class Script:
    """Answers choices as scripted, and the first possible way once the script is over."""

    def __init__(self, ways):
        self.ways, self.given, self.p, self.laws = list(ways), len(ways), 1.0, []

    def pick(self, masses):
        """An index with a mass above 0."""
        at, total = len(self.laws), float(sum(masses))
        possible = [index for index, mass in enumerate(masses) if mass > 0]
        self.laws.append(possible)
        if at >= len(self.ways):
            self.ways.append(possible[0])
        self.p *= float(masses[self.ways[at]]) / total
        return self.ways[at]


def outcomes(play):
    """{what play(script) returns: probability}."""
    found, left = Counter(), [[]]
    while left:
        script = Script(left.pop())
        found[play(script)] += script.p
        for at in range(script.given, len(script.laws)):
            left += [[*script.ways[:at], way] for way in script.laws[at] if way != script.ways[at]]
    return dict(found)


def distance(law, other):
    """Total variation."""
    return sum(abs(law.get(key, 0.0) - other.get(key, 0.0)) for key in {*law, *other}) / 2
