"""`grammarlm serve`: a model for the programs of one machine, with OpenAI's interface."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

LOOPBACK = ("127.0.0.1", "::1", "localhost")
KEY = "GRAMMARLM_API_KEY"
NUMBERS = {  # of app.Bounds: what each is, and its default
    "max_tokens": ("an answer has at most so many", 4096),
    "max_waiting": ("so many requests wait for their answer's beginning; further ones are refused", 256),
    "max_body": ("a request has at most so many bytes", 4 << 20),
    "max_answers": ("a request asks for at most so many", 64),
    "max_ms": ("a grammar is compiled within so many milliseconds, or refused", 5000),
    "batch_size": ("so many texts share a forward", 32),
}


def add_serve(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="a server with OpenAI's interface",
        description="Answers /v1/chat/completions and /v1/completions, and shows a page at /. For one machine: fleets are vLLM's, "
        "SGLang's and llama.cpp's.",
    )
    parser.set_defaults(command=run, usage_error=parser.error)
    parser.add_argument("model", metavar="tiny|PATH", help="the embedded model, or the folder of one")
    parser.add_argument("--host", default=LOOPBACK[0], help="where it listens (127.0.0.1: programs of this machine)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="8000; 0: any that is free")
    parser.add_argument("--name", metavar="NAME", help="what requests call the model (the folder's name)")
    parser.add_argument("--api-key", metavar="KEY", help=f"what clients have to send; better in the environment: {KEY}")
    for name, (meaning, default) in NUMBERS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=int, default=default, metavar="N", help=f"{meaning} ({default})"
        )


def run(options: argparse.Namespace) -> int:
    numbers = {name: getattr(options, name) for name in NUMBERS}
    for name, value in numbers.items():
        if value < 1:
            options.usage_error(f"--{name.replace('_', '-')} {value}: it takes a number of 1 or more")
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ModuleNotFoundError as error:
        print(f"grammarlm: serve needs {error.name}: pip install 'grammarlm[torch,serve]'", file=sys.stderr)
        return 1
    from grammarlm.integrations.server.app import LOCAL, application
    from grammarlm.integrations.server.asked import Bounds

    from .generate_io import load_model

    model, tokenizer = load_model(options.model)
    key = options.api_key or os.environ.get(KEY) or None
    is_local = options.host in LOOPBACK
    if not is_local and key is None:
        print(
            f"grammarlm: {options.host} may be reached by other machines, and no API key is asked for", file=sys.stderr
        )
    app = application(
        model,
        tokenizer,
        name=options.name or Path(options.model).resolve().name,
        bounds=Bounds(**numbers),
        api_key=key,
        hosts=LOCAL if is_local else ("*",),
    )
    uvicorn.run(app, host=options.host, port=options.port, log_level="info")
    return 0
