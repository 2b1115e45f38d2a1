"""Files that `grammarlm generate` writes: nothing of anybody else's is ever changed.

A file that is there already is written to only where it is known to be ours: answers by their digests (`--resume`), a report by its
beginning. All of it is read and checked before the first byte is written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..files import check_regular

LARGEST = 4 << 30  # bytes of answers
BEGINNINGS = (b'"id": ', b'"text": "', b'"error": "')  # what comes behind the number of a line in an answer


@contextmanager
def locked(name: str, resumes: bool) -> Iterator[IO[bytes]]:
    """The file, for this run alone: a new one, or the one to go on with."""
    mode = "r+b" if resumes and os.path.lexists(name) else "x+b"
    if mode == "r+b":
        check_regular(name)  # not opened otherwise: a pipe would wait for its other end
    try:
        file = Path(name).open(mode)  # noqa: SIM115 - closed below
    except FileExistsError:
        raise ValueError(
            f"--out {name}: the file is there already; go on with it by --resume, or name another"
        ) from None
    with file:
        if not lock(file):
            raise ValueError(f"--out {name}: another run is writing it; wait for its end, or name another file")
        try:
            yield file
        finally:
            if mode == "x+b" and not os.fstat(file.fileno()).st_size:  # nothing came of it
                os.unlink(name)


def lock(file: IO[bytes]) -> bool:
    """False where another process has it. It ends with the file; a system without such locks has none."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network drives take no locks
        return True
    return True


def refuse_inputs(option: str, name: str, inputs: Iterable[str | None]) -> None:
    """ValueError where the file to write is one of those that are read, by whatever name."""
    for given in inputs:
        if given is not None and is_same_file(name, 0 if given == "-" else given):
            raise ValueError(f"{option} {name}: it is the file {given} that is read; name another file to write to")


def is_same_file(one: str, other: str | int) -> bool:
    """By links, too; a number is that of an open file."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except (OSError, ValueError):  # one of them is not there
        return False


def read_answers(file: IO[bytes], name: str, digests: dict[int, str]) -> tuple[dict[int, dict[str, Any]], int]:
    """The answers by their lines, and where the file goes on: behind the last whole one.

    `digests`: of the lines that are asked for, by their numbers. ValueError where anything in the file is no answer to one of them;
    the beginning of an answer may stand at its end, which a run that was cut has left.
    """
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"--resume: {name} is larger than {LARGEST:,} bytes")
    *lines, rest = data.split(b"\n")
    found: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        answer = own_answer(line, digests)
        if answer is None:
            raise foreign(name, number)
        found[answer["line"]] = answer
    if rest:
        answer = own_answer(rest, digests)
        if answer is not None:  # only the end of the line is missing
            found[answer["line"]] = answer
            return found, len(data)
        if not is_begun(rest, [line for line in digests if line not in found]):
            raise foreign(name, len(lines) + 1)
    return found, len(data) - len(rest)


def foreign(name: str, number: int) -> ValueError:
    return ValueError(
        f"--resume: line {number} of {name} is no answer to these lines with this model and these settings, so the file is left as "
        "it is; give the --out FILE of this run, or another one without --resume"
    )


def own_answer(line: bytes, digests: dict[int, str]) -> dict[str, Any] | None:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or type(answer.get("line")) is not int:
        return None
    is_own = answer["line"] in digests and answer.get("of") == digests[answer["line"]]
    return answer if is_own and ("text" in answer or "error" in answer) else None


def is_begun(rest: bytes, missing: Iterable[int]) -> bool:
    """Could an answer to one of these lines begin so? As far as there is something, and with nothing whole in it."""
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(rest)
        return False
    starts = (f'{{"line": {number}, '.encode() for number in missing)
    return any(agree(rest, start + key) for start in starts for key in BEGINNINGS)


def agree(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


def appender(file: IO[bytes], end: int) -> Callable[[bytes], None]:
    """What writes a line. The file is cut at `end` when the first one comes, and not before."""
    left = [end]

    def write(line: bytes) -> None:
        for place in left:
            file.truncate(place)
            file.seek(max(place - 1, 0))
            if file.read(1) not in (b"", b"\n"):
                line = b"\n" + line
        left.clear()
        file.write(line + b"\n")
        file.flush()

    return write


def check_report(name: str, beginning: bytes) -> None:
    """ValueError where something is there that no earlier run has written as a report."""
    folder = Path(name).resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"--report {name}: No such file or directory: {str(folder)!r:.200}")
    if not os.path.lexists(name):
        return
    check_regular(name)
    with Path(name).open("rb") as file:
        if file.read(len(beginning)) != beginning:
            raise ValueError(f"--report {name}: the file is there already and is no report; name another")


def write_report(name: str, html: bytes, beginning: bytes) -> None:
    """The whole page or nothing of it, where a link leads to."""
    target = Path(name).resolve()
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            file.write(html)
        check_report(name, beginning)  # a while has passed
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
