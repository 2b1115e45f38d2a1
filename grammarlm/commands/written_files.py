"""Output files of `grammarlm generate`: no other program's file is ever changed.

An existing file is written to only if it is known to be ours: answers by their digests (`--resume`), a report by its first bytes.
All of it is read and checked before the first byte is written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from grammarlm.files import check_regular

LARGEST = 4 << 30  # bytes of an answers file
BEGINNINGS = (b'"id": ', b'"text": "', b'"error": "')  # what follows the line number in an answer


@contextmanager
def locked(name: str, resumes: bool) -> Iterator[IO[bytes]]:
    """The file, locked for this run: a new one, or the one to resume."""
    mode = "r+b" if resumes and os.path.lexists(name) else "x+b"
    if mode == "r+b":
        check_regular(name)  # before opening: a pipe would block
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
        except BaseException:
            if mode == "x+b" and not os.fstat(file.fileno()).st_size:  # it failed before the first line
                os.unlink(name)
            raise


def lock(file: IO[bytes]) -> bool:
    """False where another process has the lock. Closing the file releases it; True on a system without such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network drives have no locks
        return True
    return True


def refuse_inputs(option: str, name: str, inputs: Iterable[str | None]) -> None:
    """ValueError where the output file is one of the input files, under whatever name."""
    for given in inputs:
        if given is not None and is_same_file(name, 0 if given == "-" else given):
            raise ValueError(f"{option} {name}: it is the file {given} that is read; name another file to write to")


def is_same_file(one: str, other: str | int) -> bool:
    """Compares inodes, so links count; a number is a file descriptor."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except (OSError, ValueError):  # one of them does not exist
        return False


def read_answers(file: IO[bytes], name: str, digests: dict[int, str]) -> tuple[dict[int, dict[str, Any]], int]:
    """The answers by line number, and the offset after the last whole one, where writing resumes.

    `digests`: of the input lines, by number. ValueError where anything in the file is not an answer to one of them, except a
    truncated answer at its end, left by an interrupted run.
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
    """Could an answer to one of these lines begin with these bytes? Not if they are complete JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(rest)
        return False
    starts = (f'{{"line": {number}, '.encode() for number in missing)
    return any(agree(rest, start + key) for start in starts for key in BEGINNINGS)


def agree(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


def appender(file: IO[bytes], end: int) -> Callable[[bytes], None]:
    """A function that writes a line. The file is truncated at `end` only when the first line is written."""
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
    """ValueError where the file exists and was not written as a report by an earlier run."""
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
    """Writes the page atomically; follows links."""
    target = Path(name).resolve()
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            file.write(html)
        check_report(name, beginning)  # it may have changed since
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
