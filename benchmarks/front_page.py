"""What README, docs/reference/support.md and CHANGELOG say of figures, and README's picture, from benchmarks/results.

usage: python -m benchmarks.front_page     (after a run of json_schemas, grammar_masks or grammar_compiles)
"""

import json
from typing import Any

from benchmarks.report import FIGURES, RESULTS, fill

PICTURE = FIGURES / "front.svg"
OURS, PEER = "grammarlm", "llguidance"
WIDTH, LEFT, RIGHT, BAR, HEAD = 760, 120, 70, 22, 34  # pixels; LEFT for names, RIGHT for a figure after the longest bar
COLOURS = {OURS: "#1f5fa8"}


def results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def words() -> dict[str, str]:
    """The text between each pair of markers."""
    rows = results("maskbench")["all"]
    ours, peer, cases = rows[OURS], rows[PEER], rows[OURS]["cases"]
    passing = {name: f"{100 * row['counts']['passing'] / cases:.2f} %" for name, row in rows.items()}
    compiled = {name: digits(times / 1e3) for name, times in compile_times().items()}

    def share(count: int) -> str:
        return f"{count:,} ({100 * count / cases:.2f} %)"

    def times(row: dict[str, Any]) -> str:
        masks = row["masks"]
        return f"{digits(masks['avg'])} us on average, {digits(masks['quantiles']['max'] / 1e3)} ms at most"

    counts = ours["counts"]
    return {
        "maskbench.passing": f"{passing[OURS]} of MaskBench's {cases:,} schemas pass ({passing['grammarlm, schema order']} where "
        f"properties keep the schema's order; llguidance: {passing[PEER]}), with {counts['wrongly accepts']} wrongly accepted.",
        "maskbench.masks": f"A mask and its token take {times(ours)} (llguidance: {times(peer)}).",
        "maskbench.compiled": f"{share(cases - counts['refused'])} compile, {share(counts['passing'])} pass, "
        f"{share(counts['refused'])} are refused by name.",
        "maskbench.share": passing[OURS],
        "compiles.lark": f"{compiled[OURS]} ms, where llguidance takes {compiled[PEER]} and xgrammar {compiled['xgrammar']}.",
    }


def compile_times() -> dict[str, float]:
    """Of Lark grammars that were never read before, compile and first mask, us on average."""
    figures = results("grammar_compiles")["figures"]
    return {name: figures[f"lark: {name}"]["avg"] for name in (OURS, PEER, "xgrammar")}


def panels() -> dict[str, dict[str, float]]:
    rows = {name: results("maskbench")["all"][name] for name in (OURS, PEER)}
    return {
        "MaskBench: schemas that pass, %": {
            name: 100 * row["counts"]["passing"] / row["cases"] for name, row in rows.items()
        },
        "MaskBench: mask and token, us on average": {name: row["masks"]["avg"] for name, row in rows.items()},
        "Lark grammar read for the first time: compile and first mask, ms on average": {
            name: value / 1e3 for name, value in compile_times().items()
        },
    }


def picture() -> str:
    """Bars, by hand: equal figures make an equal file."""
    parts, y = [], 10
    for title, bars in panels().items():
        parts.append(f'<text x="10" y="{y + 20}" font-weight="bold">{title}</text>')
        y += HEAD
        for name, value in bars.items():
            width = (WIDTH - LEFT - RIGHT) * value / max(bars.values())
            parts += [
                f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{name}</text>',
                f'<rect x="{LEFT}" y="{y + 2}" width="{width:.1f}" height="{BAR - 6}" fill="{COLOURS.get(name, "#b8b8b8")}"/>',
                f'<text x="{LEFT + width + 8:.1f}" y="{y + 15}">{digits(value)}</text>',
            ]
            y += BAR
        y += 12
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    style = 'font-family="system-ui, sans-serif" font-size="13" fill="#222"'
    back = f'<rect width="{WIDTH}" height="{y}" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', back, *parts, "</svg>\n"])


def main() -> None:
    for name, said in words().items():
        fill(name, said)
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
