"""The report as one HTML page: tables that sort by a click, and each failure with its schema, texts and verdicts.

Self-contained: styles, script and picture are in it, and it loads nothing. What comes from data is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from .cases import BrokenCase, Case
from .markdown import Table
from .record import Record

MOST_FAILURES = 500  # of an engine; all of them are in failing.md
MOST_SCHEMA, MOST_TEXT = 6_000, 2_000  # characters shown

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 80rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: break-word }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .7rem; text-align: right; font-variant-numeric: tabular-nums; vertical-align: top }
th:first-child, td:first-child, .failures td, .failures th { text-align: left }
th { cursor: pointer; border-bottom: 1px solid #999; position: sticky; top: 0; background: #fff; white-space: nowrap }
th[aria-sort=ascending]::after { content: " \\25b2" } th[aria-sort=descending]::after { content: " \\25bc" }
td { border-bottom: 1px solid #eee } tbody tr:hover { background: #f6f6f4 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f6f4; padding: .5rem; max-height: 18rem; overflow: auto }
summary { cursor: pointer } img { max-width: 100% }
input { font: inherit; padding: .3rem .5rem; width: 22rem; max-width: 100%; box-sizing: border-box }
.outcome { white-space: nowrap }
.failures td:last-child { overflow-wrap: anywhere; min-width: 12rem } ul { color: #555 }
"""
SCRIPT = """
for (const head of document.querySelectorAll('th')) head.onclick = () => {
  const table = head.closest('table'), column = [...head.parentNode.children].indexOf(head)
  const up = head.getAttribute('aria-sort') !== 'ascending'
  for (const each of head.parentNode.children) each.removeAttribute('aria-sort')
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending')
  const key = row => row.children[column].textContent.trim()
  const number = text => parseFloat(text.replace(/,/g, ''))
  const rows = [...table.tBodies[0].rows]
  rows.sort((a, b) => {
    const one = number(key(a)), two = number(key(b))
    if (isNaN(one) !== isNaN(two)) return isNaN(one) - isNaN(two) // what is no number comes last
    return (isNaN(one) ? key(a).localeCompare(key(b)) : one - two) * (up ? 1 : -1)
  })
  table.tBodies[0].append(...rows)
}
const filter = document.getElementById('filter')
if (filter) filter.oninput = () => {
  const wanted = filter.value.toLowerCase()
  for (const row of document.querySelectorAll('.failures tbody tr'))
    row.hidden = !row.textContent.toLowerCase().includes(wanted)
}
"""


def page(
    title: str,
    facts: str,
    parts: Sequence[str | Table],
    notes: Sequence[str],
    found: Mapping[str, Sequence[Record]],
    cases: Mapping[str, Case],
    picture: Path | None,
) -> str:
    """The page as HTML. `parts`: tables, and headings as Markdown writes them."""
    image = f'<img alt="{escape(title)}" src="{_data_of(picture)}">' if picture else ""
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>",
            f"<h1>{escape(title)}</h1>\n<p>{escape(facts)}</p>",
            *(f"<h2>{escape(part.lstrip('# '))}</h2>" if isinstance(part, str) else table_of(part) for part in parts),
            image,
            "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>",
            *failures(found, cases),
            f"<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def table_of(table: Table) -> str:
    header, rows = table
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def failures(found: Mapping[str, Sequence[Record]], cases: Mapping[str, Case]) -> Iterator[str]:
    chosen = {name: [each for each in records if each.worst() != "passing"] for name, records in found.items()}
    yield f"<h2>Failures</h2>\n<p>{', '.join(f'{escape(name)}: {len(each):,}' for name, each in chosen.items())}"
    if any(len(each) > MOST_FAILURES for each in chosen.values()):
        yield f" (the worst {MOST_FAILURES} of each engine are shown; all are in failing.md)"
    yield '</p>\n<p><input id="filter" placeholder="filter: an engine, an outcome, a word"></p>'
    yield '<div class="scroll"><table class="failures">'
    yield "<thead><tr><th>engine</th><th>outcome</th><th>schema and texts</th></tr></thead><tbody>"
    for name, records in chosen.items():
        records.sort(key=lambda record: (record.OUTCOMES.index(record.worst()), record.case))
        for record in records[:MOST_FAILURES]:
            yield _failure(name, record, cases.get(record.case))
    yield "</tbody></table></div>"


def _failure(name: str, record: Record, case: Case | None) -> str:
    schema, content = "", {}
    if case is not None:
        try:
            content = case.load()
            schema = json.dumps(content["schema"], indent=1, ensure_ascii=False)
        except BrokenCase as error:
            schema = str(error)
    shown = [f"<pre>{_cut(schema, MOST_SCHEMA)}</pre>"]
    for said, text in record.texts(content):
        shown.append(f"<p>{escape(said)}</p>" + (f"<pre>{_cut(text, MOST_TEXT)}</pre>" if text else ""))
    details = f"<details><summary>{escape(record.case)}</summary>{''.join(shown)}</details>"
    outcomes = ", ".join(sorted(record.outcomes(), key=record.OUTCOMES.index))
    return f'<tr><td>{escape(name)}</td><td class="outcome">{escape(outcomes)}</td><td>{details}</td></tr>'


def _cut(text: str, most: int) -> str:
    return escape(text if len(text) <= most else f"{text[:most]} ... ({len(text):,} characters)")


def _data_of(picture: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
