"""What the documents claim, found in their Markdown: examples, console sessions, links, headings, commands.

    ```python        runs, with the names that the page's examples before it made
    ```console       `$ grammarlm ...` prints what stands below it; a line `...` stands for any others

What an example prints is shown behind it: `print(...)  # text`. One that cannot run here has a comment before it:
<!-- not run: reason -->.
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SITE = ROOT / "docs"
FENCE = re.compile(r"( *)(`{3,}|~{3,}) *(\S*)")
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block: where its text begins, and why it is not run (None: it is)."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None


def pages() -> list[Path]:
    """All documents: those at the root that are kept up to date, and the site's."""
    at_root = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
    return [*at_root, *sorted(SITE.rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def split(page: Path) -> tuple[list[tuple[int, str]], list[Block]]:
    """The lines outside of fences, with their numbers, and the fenced blocks."""
    prose: list[tuple[int, str]] = []
    blocks: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, body = (number, fence), []
        elif opened is not None and fence and fence[2] == opened[1][2] and not fence[3]:
            before = next((text for _, text in reversed(prose) if text.strip()), "")
            reason = NOT_RUN.fullmatch(before.strip())
            indent = len(opened[1][1])
            text = "".join(f"{one[indent:]}\n" for one in body)
            blocks.append(Block(page, opened[0], opened[1][3], text, reason and reason[1]))
            prose.append((number, "(code)"))
            opened = None
        elif opened is not None:
            body.append(line)
        else:
            prose.append((number, line))
    assert opened is None, f"{name_of(page)}:{opened and opened[0]}: this fence is not closed"
    return prose, blocks


def examples(page: Path) -> list[Block]:
    return [block for block in split(page)[1] if block.language == "python"]


def run_examples(page: Path) -> dict[str, object]:
    """Runs a page's examples in order; the names that they made."""
    names: dict[str, object] = {"__name__": "__example__"}
    for block in examples(page):
        if block.not_run is None:
            run(block, names)
    return names


def run(block: Block, names: dict[str, object]) -> None:
    """Runs an example. What `print(...)  # text` prints is that text."""
    printed = io.StringIO()
    with redirect_stdout(printed):  # line numbers of a traceback are those of the page
        exec(compile("\n" * block.line + block.text, name_of(block.page), "exec"), names)
    shown = re.findall(r"^print\(.*\)  # (.+)$", block.text, re.MULTILINE)
    assert not shown or printed.getvalue().splitlines() == shown, f"{name_of(block.page)}:{block.line}"


def steps(page: Path) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The arguments of each `$ grammarlm ...` in a page's sessions, and what it is to print."""
    for block in split(page)[1]:
        if block.language == "console":
            for step in block.text.split("$ grammarlm ")[1:]:
                command, shown = step.split("\n", 1)
                yield command, re.compile(re.escape(shown).replace(re.escape("...\n"), "(?s:.*)"))


def links(page: Path) -> Iterator[tuple[int, str]]:
    for number, line in split(page)[0]:
        for target in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            yield number, target


def anchors(page: Path) -> set[str]:
    """What a link into a page can name: its headings, as GitHub or Python-Markdown spell them, and objects of the API."""
    found: set[str] = set()
    for _, line in split(page)[0]:
        if heading := re.match(r"#{1,6} +(.*?)(?: +\{#([\w.-]+)\})?$", line):
            slug = slug_on_site if page.is_relative_to(SITE) else slug_on_github
            text = slug(re.sub(r"\]\([^)]*\)", "]", heading[1]))
            twins = sum(one == text or one.startswith(f"{text}_") for one in found)
            found.add(heading[2] or (f"{text}_{twins}" if twins else text))
        elif line.startswith("::: "):
            found.add(line[4:].strip())
    return found


def slug_on_site(heading: str) -> str:
    """As the toc extension of Python-Markdown makes it."""
    kept = re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", kept)


def slug_on_github(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere. A page of the site links within the site, or to an address."""
    broken = []
    for number, target in links(page):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        # Not resolved: pictures of the site are links into benchmarks/.
        there = Path(os.path.normpath(page.parent / file)) if file else page
        leaves = page.is_relative_to(SITE) and not there.is_relative_to(SITE)
        known = anchors(there) if there.suffix == ".md" and there.exists() else set()
        if not there.exists() or leaves or (anchor and anchor not in known):
            broken.append(f"{name_of(page)}:{number}: {target}")
    return broken


def commands(page: Path) -> set[str]:
    """The targets of `make` that a page's code names."""
    prose, blocks = split(page)
    inline = " ".join(code for _, line in prose for code in re.findall(r"`([^`]+)`", line))
    indented = "\n".join(line.strip() for _, line in prose if line.startswith("    "))
    found: set[str] = set()
    for text in (inline, indented, *(block.text for block in blocks if block.language in ("sh", "console", ""))):
        found.update(re.findall(r"(?:^|[$ ])make ([a-z]+)\b", text, flags=re.MULTILINE))
    return found
