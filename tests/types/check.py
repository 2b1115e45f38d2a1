"""A user's script, as mypy and pyright see it: every public name has its type, and what is wrong is found. (`make types`)"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("user_script.py")
WRONG = """
import grammarlm as gl
model, tokenizer = gl.load_tiny()
several: list[gl.Result] = gl.generate(model, "one prompt")
one: gl.Result = gl.generate(model, "several answers", n=2)
gl.generate(model, "a", max_tokens="ten")
gl.compile("[a-z]", gl.Vocabulary.from_tokenizer(tokenizer))
gl.allocate_masks(1, 2)
"""


def errors(checker: list[str], script: Path) -> list[str]:
    """The lines in which an error is reported."""
    command = [sys.executable, "-m", *checker, str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "error" in line and script.name in line]
    if done.returncode > 1 or bool(found) != (done.returncode == 1):
        sys.exit(f"{checker[0]} did not run:\n{done.stdout}{done.stderr}")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder, "wrong.py")
        wrong.write_text(WRONG, encoding="utf-8")
        for checker in (
            ["mypy", "--strict", "--ignore-missing-imports", "--follow-imports=silent"],
            ["basedpyright", "--level=error"],
        ):
            found = errors(checker, SCRIPT)
            if found:
                sys.exit("\n".join([f"{checker[0]} refuses a script that is right:", *found]))
            found = errors(checker, wrong)
            lines = sorted({int(line.split(":")[1]) for line in found})
            if lines != [4, 5, 6, 7, 8]:
                sys.exit("\n".join([f"{checker[0]} finds errors in lines {lines}, not in 4 to 8:", *found]))
            print(f"{checker[0]}: the script is right, and 5 errors of 5 are found")


if __name__ == "__main__":
    main()
