"""The registered rules. True in LOSSLESS: the law of the answers is the target's."""

from __future__ import annotations

from .by_probability import ByProbability, ByTarget, kseq, lenient, ratio, recursive, typical
from .confidence import BigLittle, Confident
from .iterations import Iterations
from .judge import Judge
from .reflective import Reflective
from .rule import Exact, Rule
from .steps import Steps

# What is a class is made for each Draft; judge, reflective and steps need something of the caller's.
RULES: dict[str, Rule | type[Rule]] = {
    "exact": Exact(),
    "ratio": ByProbability(ratio),
    "recursive": ByProbability(recursive, draws="distinct"),
    "kseq": ByProbability(kseq),
    "typical": ByTarget(typical),
    "lenient": ByTarget(lenient),
    "judge": Judge,
    "reflective": Reflective,
    "steps": Steps,
    "confident": Confident,
    "big_little": BigLittle,
    "iterations": Iterations,
}
LOSSLESS = {name: rule.lossless for name, rule in RULES.items()}
NEEDS = {"judge": "judge.Judge(head)", "reflective": "reflective.Reflective(prompt)", "steps": "steps.Steps(router)"}
HOME = __name__.rpartition(".")[0]


def name_of(rule: Rule) -> str:
    """The name that it has in RULES, or that of its class."""
    return next((name for name, known in RULES.items() if known in (rule, type(rule))), type(rule).__name__)


def rule_of(name: str) -> Rule:
    """ValueError where the rule cannot be made from its name alone."""
    if name in NEEDS:
        raise ValueError(f"the acceptance rule {name!r} needs an object: acceptance={HOME}.{NEEDS[name]}")
    found = RULES[name]
    return found() if isinstance(found, type) else found
