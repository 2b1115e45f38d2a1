"""An HTML page about one filled row: the text after each step. Self-contained, without scripts; everything shown is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.decoding.diffusion.report import Frame, Piece, frames

from .infill_lines import line_of, summary
from .report_page import escape, shown_grammar

if TYPE_CHECKING:
    from grammarlm.decoding.result import Result
    from grammarlm.grammars.compose import Grammar
    from grammarlm.vocab.vocabulary import Vocabulary

BEGINNING = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>grammarlm: how a text was filled in</title>"""  # a file that begins so is such a page

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: break-word }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem }
pre, .row { font-family: ui-monospace, Consolas, monospace; font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere }
pre { background: #f6f6f4; padding: .7rem; max-height: 22rem; overflow: auto }
.row { margin: 0 0 .9rem; line-height: 1.7 } .step { color: #06688a; margin: 0 }
.given { color: #888 } .new { background: #cdeccd; font-weight: 600 } .masked { color: #ccc } .refused { color: #c0392b }
"""


def page(prompt: str | None, grammar: Grammar | None, result: Result, vocab: Vocabulary) -> str:
    """The page as HTML."""
    shown = "" if prompt is None else f'<h2>Prompt</h2>\n<pre id="prompt">{escape(prompt)}</pre>'
    held = "" if grammar is None else f'<h2>Grammar</h2>\n<pre id="grammar">{escape(shown_grammar(grammar))}</pre>'
    steps = "\n".join(step_of(frame) for frame in frames(result, vocab))
    return f"""{BEGINNING}<style>{STYLE}</style></head>
<body>
<h1>How a text was filled in</h1>
{shown}
<h2>Answer</h2>
<pre id="answer">{escape(result.text)}</pre>
<p>{escape(summary(result))}</p>
<h2>Steps</h2>
<p><span class="given">Given</span>, known, <span class="new">committed in this step</span>, <span class="masked">░ masked</span>,
<span class="refused">░ masked, and an id was refused there</span>; · the text's end and what follows it.</p>
{steps}
{held}
</body>
</html>
"""


def step_of(frame: Frame) -> str:
    head = "" if frame.step is None else f'<p class="step">{escape(line_of(frame))}</p>\n'
    return f'{head}<p class="row" id="s{frame.number}">{"".join(map(span_of, frame.pieces))}</p>'


def span_of(piece: Piece) -> str:
    return f'<span class="{piece.kind}" title="{piece.position}">{escape(piece.shown)}</span>'
