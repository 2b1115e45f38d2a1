"""`grammarlm methods [NAME]`: what `--method` takes, by what one wants of it; or all that is said of one of them."""

from __future__ import annotations

import argparse
from typing import Any

from grammarlm.decoding.method_list import methods
from grammarlm.decoding.systems import METHODS


def add_methods(commands: Any) -> None:
    parser = commands.add_parser("methods", help="how answers can be found, and which way is for what")
    parser.add_argument("name", nargs="?", choices=METHODS, metavar="NAME", help="one of them, in full")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    print(methods if options.name is None else methods[options.name])
    return 0
