"""Whether an engine compiles something in time, tried where it can be ended and disturbs nobody; and whose turn it is.

Native code that takes minutes hears no signal, so a process must try it. A process that is forked off the measured one would leave
all memory of that write-protected: whoever is measured next pays a page fault for each page that it touches, a Python engine for
nearly all, a native one for few. So one process is forked before the engines are warmed up, and that one forks the others.
"""

import atexit
import contextlib
import gc
import itertools
import multiprocessing
import os

COMPILE_SECONDS = 20
_FORK = multiprocessing.get_context("fork")


class Scout:
    """Holds copies of engines, and has them compile what the real ones shall."""

    def __init__(self, engines: list):
        self._engines = {engine.name: engine for engine in engines}
        self._asks, answers = _FORK.Pipe()
        self._process = _FORK.Process(target=self._serve, args=(answers,))
        self._process.start()
        answers.close()
        atexit.register(self.close)  # before multiprocessing waits for the process

    def compiles_in_time(self, engine, *source: str) -> bool:
        """True also where the engine refuses it: that is seen when it compiles it itself."""
        if not engine.slow:
            return True
        self._asks.send((engine.name, source))
        return self._asks.recv()

    def close(self) -> None:
        self._asks.close()
        self._process.join()

    def _serve(self, answers) -> None:
        self._asks.close()
        with contextlib.suppress(EOFError):
            while True:
                name, source = answers.recv()
                child = _FORK.Process(target=_try_to_compile, args=(self._engines[name], source))
                child.start()
                child.join(COMPILE_SECONDS)
                in_time = not child.is_alive()
                if not in_time:
                    child.kill()
                    child.join()
                answers.send(in_time)
        os._exit(0)


def settle() -> None:
    """Writes to what a fork has left shared, once: the headers of all objects that may be in cycles."""
    for _ in range(2):
        gc.collect()


def _try_to_compile(engine, source: tuple[str, ...]) -> None:
    with contextlib.suppress(Exception):
        engine.compile(*source)
    os._exit(0)


def forget(engine) -> None:
    """Drops what the engine made of its last grammar, so that the next one's time does not hold the end of this one's."""
    for name in ("matcher", "guide", "ready", "constraint", "grammar", "compiled", "index"):
        if hasattr(engine, name):
            setattr(engine, name, None)


def in_turn(engines: list, index: int) -> list:
    """The engines in the order of this turn: each comes behind each other one equally often."""
    orders = list(itertools.permutations(engines))
    return list(orders[index % len(orders)])
