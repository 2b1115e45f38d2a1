"""Threads that begin at once."""

import threading
from collections.abc import Callable
from typing import Any

THREADS = 8


def in_threads(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What each thread returns of its number; an error of one is raised here."""
    found: dict[int, Any] = {}
    begin = threading.Barrier(count)

    def run(place: int) -> None:
        begin.wait()
        try:
            found[place] = work(place)
        except Exception as error:
            found[place] = error  # raised again below, in the thread of the test

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in found.values():
        if isinstance(outcome, Exception):
            raise outcome
    return [found[place] for place in range(count)]
