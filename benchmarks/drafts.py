"""All drafters on the embedded model's tasks, and masks of draft trees: `grammarlm bench drafts`, into docs/figures/drafts.md.

usage: GRAMMARLM_DATA=... PYTHONPATH=FOLDER_WITH_ARCTIC python -m benchmarks.drafts [arguments of grammarlm bench drafts]

The masks are those of the embedded tokenizer and of Llama 3.1's, where GRAMMARLM_DATA has it.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.report import FIGURES, write
from grammarlm.bench.arguments import add_drafts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_drafts(parser.add_subparsers())
    data = os.environ.get("GRAMMARLM_DATA")
    tokenizers = ["tiny", *([f"{data}/tokenizers/llama3_1"] if data else [])]
    with tempfile.TemporaryDirectory() as folder:
        asked = ["drafts", "--tokenizers", ",".join(tokenizers), *sys.argv[1:], "--out", folder]
        options = parser.parse_args(asked)
        options.command(options)
        figures = json.loads((Path(folder) / "figures.json").read_text(encoding="utf-8"))
        title, _, report = (Path(folder) / "report.md").read_text(encoding="utf-8").partition("\n\n")
        if (Path(folder) / "drafts.png").exists():
            shutil.copy(Path(folder) / "drafts.png", FIGURES / "drafts.png")
    write("drafts", title.removeprefix("# "), figures, report)


if __name__ == "__main__":
    main()
