"""`grammarlm bench maskbench DIR`: thousands of real schemas with labelled instances, in MaskBench's layout."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from grammarlm.bench import cases
from grammarlm.bench.comparison import Comparison, runs_of
from grammarlm.bench.tokenizer import find_tokenizer

from .report import tell

NOTES = (
    "A test passes where the verdict on the whole instance, its end included, is its label; a schema where all its tests do. "
    "A schema without tests passes where it compiles; the share among those with tests is a row of its own.",
    "A schema with several outcomes is counted under each.",
    "Instances are tokenized as json.dumps writes them (ensure_ascii=False).",
    "grammarlm's caches of grammars are cleared before each schema (the data holds duplicates); llguidance keeps none, "
    "xgrammar's is off. Kernels and what hangs on the tokenizer alone are loaded before the first schema, for every engine.",
    'Two rows for grammarlm: property_order="any" is what JSON Schema means, "schema" is how generate() writes.',
    "xgrammar is its strict mode with json.dumps' separators; xgrammar-compliant is strict_mode=False, any_whitespace=True. "
    "outlines compiles a regular expression, recursion to depth 3.",
    "The ratios are over the schemas on which both engines made equally many masks.",
)


def run(options: argparse.Namespace) -> int:
    if options.tokenizer != "tiny":
        find_tokenizer(options.tokenizer)
    runs, absent = runs_of(options.engines, options.tokenizer, options.limit)
    found = cases.maskbench(Path(options.folder), options.every)
    about = {"data": str(Path(options.folder).resolve()), "every": options.every}
    title = f"MaskBench, {len(found):,} schemas"
    comparison = Comparison(title, runs, Path(options.out), options.resume, options.jobs, about, NOTES, absent)
    records = comparison.measure(found, Console(stderr=True))
    print(tell(comparison, records))
    return 0
