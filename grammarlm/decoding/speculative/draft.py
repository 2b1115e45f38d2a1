"""`gl.Draft`: how drafts are made and verified.

gl.generate(model, prompt, schema=Person, draft="auto")
draft = gl.Draft(["suffix", small_model], tree="fixed")       # remembers the texts of all calls that it is passed to
gl.generate(model, prompt, schema=Person, draft=draft)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar

from grammarlm.decoding.arguments import check_function, check_integer, check_number, check_vocabulary
from grammarlm.decoding.loop.cost import Cost
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.decoding.systems import ACCEPTANCE, AUTO, DRAFTERS, TREES
from grammarlm.vocab.vocabulary import Vocabulary

from .acceptance import Rule, name_of, rule_of
from .combinations import check_combination
from .draft_budget import DraftBudget
from .draft_builder import BY_RANKS, Accepts, Path, Shape
from .drafters.combined import Combined, leaves
from .drafters.drafter import Target
from .drafting import Drafting
from .making import check_name, drafter_of
from .schedule import Schedule

OWN = (
    "tree",
    "length",
    "widths",
    "acceptance",
    "schedule",
    "stop",
    "accepts",
    "vocab",
    "tokenizer",
)  # arguments of any draft


class Draft:
    """Drafters, the shape of their drafts, and the rule by which drafted tokens are drawn.

    drafter      a name of DRAFTERS, "auto", a model, or a list of names and models, which share each draft
    tree         a name of TREES: "chain", or several continuations at once; or the paths of a tree, each the ranks on the way to a
                 node among the candidates of the node above (drafters.tune_tree finds those that pay)
    length       tokens of a chain, the depth of a tree; None: what suits the drafter
    widths       of a "fixed" or "distinct" tree: children of the best node at each depth, 1 below; of "beams": beams at each depth
    acceptance   a name of ACCEPTANCE, or a rule; those that are True there leave the law of the answers as it is, and "exact" the
                 answers. The grammar holds under any rule
    schedule     a Schedule: how far each row of a batch drafts, and when
    stop         a path ends where the draft's own probabilities say that some token of it is refused with more than this chance
    accepts      a trained head that says so instead, and what "best_first" goes by: accepts(ids of a text, tokens that may follow,
                 the draft's probability of each, a draft model's last hidden state there) gives the chance of each to be drawn
    vocab, tokenizer   what the ids of a draft model mean, where not the target's
    options      of the drafter: least= ("copy"), chance= ("suffix"), layers= ("skip": those left out, or "search";
                 "exit": how many, or "auto"), context= and transfer= (a model's own prompt; how far it moves the target's
                 law, which is lossy: is_lossless)

    ValueError for what could have no effect: an option that nothing here has, or one that the drafter, tree or rule has no use for.
    """

    DRAFTERS: ClassVar[Mapping[str, str]] = DRAFTERS
    TREES: ClassVar[Sequence[str]] = tuple(TREES)
    ACCEPTANCE: ClassVar[Mapping[str, bool]] = {name: lossless for name, (_, lossless) in ACCEPTANCE.items()}

    def __init__(
        self,
        drafter: Any,
        *,
        tree: str | Sequence[Path] = "chain",
        length: int | None = None,
        widths: Sequence[int] | None = None,
        acceptance: str | Rule = "exact",
        schedule: Schedule | None = None,
        stop: float | None = None,
        accepts: Accepts | None = None,
        vocab: Vocabulary | None = None,
        tokenizer: Any = None,
        **options: Any,
    ):
        paths = () if isinstance(tree, str) else checked_paths(tree)
        if isinstance(tree, str):
            check_name("tree", tree, self.TREES)
        if not isinstance(acceptance, Rule):
            check_name("acceptance rule", acceptance, self.ACCEPTANCE)
        if not isinstance(schedule, (Schedule, NoneType)):
            raise TypeError(f"schedule is a Schedule, such as Memory(4), not {type(schedule).__name__}")
        check_integer("length", length, 1, optional=True)
        check_number("stop", stop, lambda h: 0 < h < 1, "between 0 and 1", optional=True)
        check_function("accepts", accepts)
        if vocab is not None or tokenizer is not None:
            check_vocabulary(tokenizer, vocab)
            vocab = vocab or Vocabulary.from_tokenizer(tokenizer)
        self.tree, self.paths = tree if isinstance(tree, str) else BY_RANKS, paths
        self.widths, self.stop, self.accepts = checked_widths(widths, self.tree), stop, accepts
        self.rule = acceptance if isinstance(acceptance, Rule) else rule_of(acceptance)
        self.schedule = schedule or Schedule()
        self.drafter = drafter_of(drafter, vocab, options, OWN)
        check_combination(self.drafter, self.tree, self.widths, stop, accepts, self.rule, self.schedule)
        self.length = length or (len(paths[-1]) if paths else self.drafter.length)
        self._saves = isinstance(drafter, str) and drafter == AUTO

    def start(self, model: Any, spec: AnswerSpec, cost: Cost) -> Drafting:
        """The drafts of one batch of answers; `cost` is what the model's forwards cost."""
        target = Target(model, spec.vocab, spec.settings.temperature)
        for member in leaves(self.drafter):
            member.has_failed = False
        self.drafter.begin(target)
        self.rule.begin(target)
        self.schedule.begin(target, self.drafter)
        shape = Shape(
            self.tree, self.paths, self.length, self.rule.draws, self.stop, self.rule.above, self.widths, self.accepts
        )
        saving = None
        if self._saves and isinstance(self.drafter, Combined):
            saving = DraftBudget(self.drafter, cost)
        return Drafting(self.drafter, shape, self.rule, self.schedule, self._room, saving)

    @property
    def is_lossless(self) -> bool:
        """Do the answers follow the target's law? Under "exact" they are then those without a draft."""
        return self.rule.lossless and self.drafter.is_lossless

    def _room(self, row: Row) -> int:
        return min(self.length, row.spec.settings.max_tokens - row.count - 1)

    def __repr__(self) -> str:
        return f"<Draft by {type(self.drafter).__name__}, {self.tree} of {self.length}, {name_of(self.rule)}>"


def as_draft(draft: Any) -> Draft | None:
    """What generate(draft=...) takes."""
    return draft if draft is None or isinstance(draft, Draft) else Draft(draft)


def checked_paths(tree: Sequence[Path]) -> tuple[Path, ...]:
    """Shorter paths first."""
    if not isinstance(tree, (list, tuple)) or not all(isinstance(path, (list, tuple)) for path in tree):
        raise TypeError(f"tree is {tree!r:.60}; it takes a name, or a list of paths such as [(0,), (1,), (0, 0)]")
    paths = sorted((tuple(path) for path in tree), key=len)
    for rank in (rank for path in paths for rank in path):
        check_integer("tree", rank, 0)
    if not paths or not paths[0]:
        raise ValueError(f"tree={tree!r:.60}; it takes a name, or a list of paths of one rank or more")
    return tuple(paths)


def checked_widths(widths: Sequence[int] | None, tree: str) -> tuple[int, ...] | None:
    if widths is None:
        return None
    if tree not in ("fixed", "distinct", "beams"):
        raise ValueError(f"widths= is for the trees 'fixed', 'distinct' and 'beams', not {tree!r}")
    if not isinstance(widths, (list, tuple)):
        raise TypeError(f"widths is {type(widths).__name__}; it takes a list of numbers, one for each depth")
    for width in widths:
        check_integer("widths", width, 1)
    if not widths:
        raise ValueError("widths= needs one number at least: children of the best node at the first depth")
    return tuple(widths)
