"""An HTML page about one answer: its tokens, what was allowed at each, and the probabilities before and after masking.

Self-contained: it includes its styles, loads nothing and runs no script, so that it can be mailed, archived and opened anywhere.
The prompt, the grammar and the tokens are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import TYPE_CHECKING, Any

from grammarlm.decoding.loop.step_reports import StepReport, TokenReport
from grammarlm.grammars.json_schema.read.schema_pointers import pointer_of, schema_pointers

if TYPE_CHECKING:
    from grammarlm.decoding.result import Result
    from grammarlm.grammars.compose import Grammar

MOST_GRAMMAR = 20_000  # bound on the characters of a grammar that are shown
BEGINNING = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>grammarlm: how an answer was chosen</title>"""  # a file that begins so is such a page

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: break-word }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem }
pre, code, .answer { font-family: ui-monospace, Consolas, monospace; font-size: 13px }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f6f4; padding: .7rem; max-height: 22rem; overflow: auto }
.answer { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9 }
.answer a { color: inherit; text-decoration: none; border-bottom: 2px solid #ccc; padding: 1px 0 }
.answer a.forced { border-bottom-style: dotted } .answer a:hover { outline: 1px solid #555 }
.h0 { background: #fff } .h1 { background: #fdf3d8 } .h2 { background: #fbdcae }
.h3 { background: #f6b092 } .h4 { background: #ea8276 }
table { border-collapse: collapse; width: 100%; min-width: 56rem }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem }
th { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #999 } td { border-bottom: 1px solid #eee }
td.number { text-align: right; font-variant-numeric: tabular-nums } tr:target { outline: 2px solid #36c }
.forbidden code { text-decoration: line-through; color: #a22 } .places { color: #666; overflow-wrap: anywhere }
dt { float: left; width: 11rem; color: #666 }
@media (max-width: 58rem) { .scroll { overflow-x: auto } dt { float: none } dd { margin: 0 0 .5rem } } /* wider: heads stick */
"""


def page(prompt: str, grammar: Grammar, steps: Sequence[StepReport], result: Result) -> str:
    """The page as HTML."""
    schema = document_of(grammar)
    rows = "\n".join(row_of(number, step, schema) for number, step in enumerate(steps, 1))
    return f"""{BEGINNING}<style>{STYLE}</style></head>
<body>
<h1>How an answer was chosen</h1>
<h2>Prompt</h2>
<pre id="prompt">{escape(prompt)}</pre>
<h2>Answer</h2>
<p class="answer" id="answer">{"".join(span_of(number, step, text) for number, step, text in with_texts(steps))}</p>
<p>The warmer, the more of the model's probability was forbidden there: <span class="h0">under 1 %</span>,
<span class="h1">1 %</span>, <span class="h2">10 %</span>, <span class="h3">50 %</span>, <span class="h4">90 %</span> and more.
Dotted: nothing else was allowed.</p>
{facts(result)}
<h2>Tokens</h2>
<div class="scroll"><table id="tokens">
<thead><tr><th>#</th><th>token</th><th>model</th><th>after</th><th>allowed</th><th>removed</th><th>others that were allowed</th>
<th>wanted, but forbidden</th>{"<th>value, and where the schema speaks of it</th>" if schema is not None else ""}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
<p>Probabilities at temperature 1: the model's own, and those after the mask.</p>
<h2>Grammar</h2>
<pre id="grammar">{escape(shown_grammar(grammar))}</pre>
</body>
</html>
"""


def document_of(grammar: Grammar) -> Any:
    """The schema; None where the grammar is not one."""
    from grammarlm.grammars.json_schema.schema import JsonSchema

    return grammar.document() if isinstance(grammar, JsonSchema) else None


def shown_grammar(grammar: Grammar) -> str:
    from json import dumps

    schema = document_of(grammar)
    text = repr(grammar) if schema is None else dumps(schema, indent=2, ensure_ascii=False, default=str)
    return (
        text
        if len(text) <= MOST_GRAMMAR
        else f"{text[:MOST_GRAMMAR]}\n... {len(text) - MOST_GRAMMAR:,} characters more"
    )


def with_texts(steps: Sequence[StepReport]) -> Iterable[tuple[int, StepReport, str]]:
    """Each step with its part of the text; a character split over several tokens belongs to the last of them."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for number, step in enumerate(steps, 1):
        yield number, step, decoder.decode(step.data, final=number == len(steps))


def span_of(number: int, step: StepReport, text: str) -> str:
    kind = f"h{heat(step.mass_removed)}" + (" forced" if step.allowed == 1 else "")
    described = f"{step.chosen.name}: {percent(step.chosen.before)} before, {percent(step.chosen.after)} after the mask"
    return f'<a class="{kind}" href="#t{number}" title="{escape(described)}">{escape(text)}</a>'


def row_of(number: int, step: StepReport, schema: Any) -> str:
    pointers = "" if schema is None else f'<td class="places">{pointers_in(step, schema)}</td>'
    return (
        f'<tr id="t{number}"><td class="number">{number}</td><td><code>{escape(step.chosen.name)}</code></td>'
        f'<td class="number">{percent(step.chosen.before)}</td><td class="number">{percent(step.chosen.after)}</td>'
        f'<td class="number">{step.allowed:,}</td><td class="number h{heat(step.mass_removed)}">{percent(step.mass_removed)}</td>'
        f"<td>{candidates(step.others)}</td>"
        f'<td class="forbidden">{candidates(step.forbidden)}</td>{pointers}</tr>'
    )


def candidates(found: Sequence[TokenReport]) -> str:
    """Each with its probability before masking, and after it where it was allowed."""
    return "<br>".join(
        f"<code>{escape(one.name)}</code> {percent(one.before)}{f' → {percent(one.after)}' if one.after else ''}"
        for one in found
    )


def pointers_in(step: StepReport, schema: Any) -> str:
    path = step.path or ()
    spoken = ", ".join(f"#{pointer}" for pointer in schema_pointers(schema, path)) or "nothing is said of it"
    return f"<code>{escape(pointer_of(path) or 'the whole')}</code><br>{escape(spoken)}"


def facts(result: Result) -> str:
    stats = result.stats
    removed = sum(stats.mass_removed) / max(stats.tokens, 1)
    rows = {
        "finished": result.finish_reason,
        "tokens": f"{stats.tokens}, {stats.forced_tokens} of them forced",
        "forwards": str(stats.forwards),
        "probability removed": f"{percent(removed)} a token",
        "seed": "none: greedy" if stats.seed is None else str(stats.seed),
        "time": f"model {stats.model_seconds:.3f} s, masks {stats.mask_seconds:.4f} s, sampling {stats.sampling_seconds:.4f} s",
    }
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape(value)}</dd>' for name, value in rows.items())}</dl>"


def heat(removed: float) -> int:
    """A level from 0 to 4."""
    return sum(removed >= limit for limit in (0.01, 0.1, 0.5, 0.9))


def escape(text: str) -> str:
    """Escapes HTML, and carriage returns, which a browser would read as line ends."""
    return escape_html(text).replace("\r", "&#13;")


def percent(p: float) -> str:
    return f"{p:.1%}" if p >= 0.0005 or p == 0 else "~0%"
