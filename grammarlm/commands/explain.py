"""`grammarlm generate --explain` and `--report`: how each token was chosen, on the terminal or as a page."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from grammarlm.decoding.generate import start
from grammarlm.decoding.loop.step_reports import StepReport, TokenReport, step_reports
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.grammars.json_schema.read.schema_pointers import pointer_of
from grammarlm.vocab.names import token_name
from grammarlm.vocab.vocabulary import Vocabulary

from .written_files import write_report

if TYPE_CHECKING:
    from grammarlm.decoding.result import Result

NAMES, SHOWN = 15, 3
HEADER = (
    f"{'token':<{NAMES}}{'model':>8}{'after':>8}{'allowed':>9}{'removed':>9}   others allowed, wanted but forbidden"
)


def explained(model: Any, prompt: str | list[Any], arguments: dict[str, Any], options: argparse.Namespace) -> Result:
    """Generates, with a line for each token on stderr, and a page if asked for."""
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    decoding = start(model, prompt, **arguments)
    steps, path, drafts = [], None, Drafts(decoding.vocab)
    if options.explain:
        console.print(Text(HEADER, style="dim"))
    for step in step_reports(decoding, arguments["grammar"]):
        steps.append(step)
        if options.explain:
            if step.path != path:
                path = step.path
                console.print(Text(f"at {pointer_of(path or ()) or 'the whole'}", style="cyan"))
            if step.draft is not None:
                console.print(drafts.tree_of(step.draft))
            console.print(line_of(step, drafts.has(step.chosen.token)))
    result = decoding.result()
    if options.explain:
        console.print(Text(summary(result), style="dim"))
    if options.report:
        from .report_page import BEGINNING, page

        shown = prompt if isinstance(prompt, str) else json.dumps(prompt, indent=2, ensure_ascii=False)
        html = page(shown, arguments["grammar"], steps, result)
        write_report(options.report, html.encode("utf-8", "replace"), BEGINNING.encode())
    return result


class Drafts:
    """The draft trees of one answer, and which of its tokens they had."""

    def __init__(self, vocab: Vocabulary):
        self._vocab = vocab
        self._tree, self._node = DraftTree(), ROOT

    def tree_of(self, tree: DraftTree) -> Tree:
        """The tree, tokens that only one other token follows in one line with it."""
        self._tree, self._node = tree, ROOT
        below: dict[int, list[int]] = {node: [] for node in range(ROOT, len(tree))}
        for node, parent in enumerate(tree.parents):
            below[parent].append(node)
        shown = Tree(Text("drafted", style="green"), guide_style="dim")
        places = [(shown, node) for node in reversed(below[ROOT])]
        while places:
            place, node = places.pop()
            run = [node]
            while len(below[run[-1]]) == 1:
                run += below[run[-1]]
            names = " ".join(token_name(self._vocab, tree.tokens[each]) for each in run)
            inner = place.add(Text(names, style="dim", overflow="fold"))
            places += [(inner, each) for each in reversed(below[run[-1]])]
        return shown

    def has(self, token: int) -> bool:
        """Was the next token drafted?"""
        node = self._tree.child(self._node, token)
        if node is None:
            self._tree, self._node = DraftTree(), ROOT
        else:
            self._node = node
        return node is not None


def line_of(step: StepReport, is_drafted: bool = False) -> Text:
    """The token, its probability before and after masking, how many were allowed, the mass removed, the alternatives."""
    name = step.chosen.name if len(step.chosen.name) < NAMES else f"{step.chosen.name[: NAMES - 4]}..."
    line = Text(f"{name:<{NAMES}}", style="bold green" if is_drafted else "bold")
    after = "forced" if step.allowed == 1 else f"{step.chosen.after:.1%}"
    line.append(f"{step.chosen.before:>8.1%}{after:>8}{step.allowed:>9,}", style="not bold")
    line.append(f"{step.mass_removed:>9.1%}", style=f"not bold {heat(step.mass_removed)}")
    line.append("   ")
    for other in step.others[:SHOWN]:
        line.append(f"{short(other)} {other.after:.1%}  ", style="not bold dim")
    for other in step.forbidden[:SHOWN]:
        line.append(f"{short(other)} {other.before:.1%}  ", style="not bold red strike")
    line.rstrip()
    return line


def short(candidate: TokenReport) -> str:
    return candidate.name if len(candidate.name) < NAMES else f"{candidate.name[: NAMES - 4]}..."


def heat(removed: float) -> str:
    """The colour for the mass that the mask removed."""
    return "red" if removed >= 0.5 else "yellow" if removed >= 0.1 else "default"


def summary(result: Result) -> str:
    stats = result.stats
    removed = sum(stats.mass_removed) / max(stats.tokens, 1)
    drafts = (
        f"; {stats.accepted_tokens} of {stats.draft_tokens} drafted tokens were drawn" if stats.draft_tokens else ""
    )
    return (
        f"{stats.tokens} tokens ({stats.forced_tokens} forced), {stats.forwards} forwards{drafts}, {removed:.1%} of the "
        f"probability removed, finished: {result.finish_reason}"
    )
