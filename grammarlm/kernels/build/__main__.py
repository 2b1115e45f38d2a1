"""Builds the library of compiled kernels: `python -m grammarlm.kernels.build [--cpus x86-64-v3 x86-64-v2]`."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grammarlm.kernels.entries import LIBRARY, MODULES

from .extension import link, write_source

CPUS = ["x86-64-v3", "x86-64-v2"]  # the first that a machine supports is used
HALF = "json_call", "explore_json", "best_entries"  # of the time


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m grammarlm.kernels.build", description=__doc__)
    parser.add_argument("--cpus", nargs="+", default=CPUS, help=f"kinds of CPU, best first (default: {' '.join(CPUS)})")
    parser.add_argument("--compiler", default="cc", help="the C compiler, with its options (default: cc)")
    parser.add_argument("--folder", type=Path, help="where intermediate files are left (default: nowhere)")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        others = (name for name in MODULES if name not in HALF)
        command = [sys.executable, "-m", "grammarlm.kernels.build.objects", str(folder)]
        running = [subprocess.Popen([*command, share, *options.cpus]) for share in (",".join(HALF), ",".join(others))]
        codes = [process.wait() for process in running]  # of both: neither is left behind
        if any(codes):
            sys.exit("the kernels do not compile: see above")
        source = folder / "module.c"
        write_source(source, options.cpus)
        objects = [folder / cpu / f"{name}.o" for cpu in options.cpus for name in MODULES]
        link(options.compiler.split(), source, objects)
    print(f"{LIBRARY}: {LIBRARY.stat().st_size:,} bytes, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
