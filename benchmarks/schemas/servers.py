"""JSONSchemaBench on servers, side by side: `python -m benchmarks.schemas.servers DIR --model NAME --url [NAME=]URL ...`.

OpenAI-compatible ones, with the schema as response_format. Other arguments, and the report, are those of
`grammarlm bench jsonschemabench`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from grammarlm.bench.arguments import add_common, add_generation
from grammarlm.bench.cases import Case
from grammarlm.bench.driver import Run
from grammarlm.bench.generation.jsonschemabench import GRACE, Length, Plan, asked, chosen, told
from grammarlm.bench.generation.prompts import examples

from .endpoint import Endpoint, endpoints_of

TASK = "benchmarks.schemas.ask:Ask"
NOTES = (
    "Servers get the schema as response_format, and compile it before the first token: that time has all of it, and the network.",
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--model", required=True, metavar="NAME", help="as the servers call it")
    parser.add_argument("--url", action="append", required=True, metavar="[NAME=]URL", help="http://host:8000/v1")
    parser.add_argument("--completions", action="store_true", help="the prompt as plain text, not as a chat")
    add_generation(parser)
    add_common(parser, "grammarlm-servers", limit=40.0)
    options = parser.parse_args(arguments)
    try:
        every, generation = asked(options, options.shots)
        return told(options, every, on_servers(options, every, {**generation, "completions": options.completions}))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def on_servers(options: argparse.Namespace, every: list[Case], generation: dict[str, Any]) -> Plan:
    endpoints, absent = endpoints_of(options.url, options.model)
    found, passed_over = chosen(every, options.sample, *room_on(endpoints, generation))
    limit = options.limit + GRACE
    runs = [
        Run(each.name, "none", {"generation": {**generation, "url": each.url}}, "the server's", limit, task=TASK)
        for each in endpoints
    ]
    return Plan(found, passed_over, runs, absent, (*NOTES, *(each.note() for each in endpoints)))


def room_on(endpoints: list[Endpoint], generation: dict[str, Any]) -> tuple[int | None, Length]:
    """The tokens that a prompt may have, as servers take no request that could outgrow their context; the first one counts them."""
    contexts = [endpoint.context for endpoint in endpoints if endpoint.context is not None]

    def length(case: Case, schema: Any) -> int | None:
        shown = examples(generation, case, schema)
        return endpoints[0].length(endpoints[0].prompt(schema, shown, generation["completions"]))

    return min(contexts) - generation["most"] if contexts else None, length


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
