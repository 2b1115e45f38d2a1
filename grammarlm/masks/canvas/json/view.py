"""The view of JSON Schema: one schema is all of the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.masks.canvas.json.states.explored import MANY_STATES, MOST_STATES, Explorer, States, start_thread
from grammarlm.masks.canvas.json.states.few_strings import spelled_keys
from grammarlm.masks.canvas.json.states.places import Places
from grammarlm.masks.canvas.json.states.scales import scales_of
from grammarlm.masks.canvas.json.states.tracked import long_strings
from grammarlm.masks.canvas.protocol import TokenGrid
from grammarlm.masks.canvas.tables.automaton import byte_automaton
from grammarlm.masks.canvas.tables.unrolled import Starts, Unrolled, unrolled
from grammarlm.masks.machines.json.distinct.program import DistinctProgram
from grammarlm.masks.machines.json.vocabulary.blanks import blanks_of
from grammarlm.masks.runtime.limits import Clock

from .grid import JsonGrid
from .rows import JsonRows
from .unrolled_view import UnrolledView

if TYPE_CHECKING:
    from grammarlm.masks.automaton import Automaton
    from grammarlm.masks.machines.json.compile.compile import JsonSchemaProgram
    from grammarlm.masks.machines.json.configs import Config
    from grammarlm.masks.matcher import Matcher


class JsonView(UnrolledView):
    """One schema is all of the text."""

    def __init__(self, automaton: Automaton):
        super().__init__(automaton)
        program = automaton.program
        if isinstance(program, DistinctProgram):
            raise UnsupportedFeature("a canvas over an array with uniqueItems whose items may be objects or arrays")
        self.program: JsonSchemaProgram = program
        check_spelling(program)
        rows = program.json.rows
        places = Places(rows, program.json.start)
        self.has_free_keys = places.has_free_keys
        self._scales, self._scale = scales_of(places), 0
        self.spelled = spelled_keys(program, places.languages)
        self.long_lengths = tuple(sorted({rows[row + 1] for row in long_strings(rows, places.strings)}))

    def explorer(self, states: States) -> Explorer:
        """Without states yet."""
        most = MOST_STATES if self._scale == len(self._scales) - 1 else MANY_STATES
        return Explorer(self.program, states, most, self._scales[self._scale])

    def _made(self, states: States) -> Unrolled:
        while True:
            try:
                return self._with_tokens(self.explorer(states))
            except LimitExceeded:
                self._automaton.program.clock.check()
                if self._scale == len(self._scales) - 1:
                    raise
                self._scale += 1

    def _with_tokens(self, explorer: Explorer) -> Unrolled:
        table = explorer.run(start_thread(self.program))
        machine = byte_automaton(table, Clock(self.program.limits).check)
        return unrolled(self._automaton, explorer, machine, [(table.start, ())], self.tokens(explorer.states))

    def _after(
        self, found: Unrolled, matcher: Matcher, keys: tuple[bytes, ...] = (), begun: int = -1
    ) -> tuple[Unrolled, Starts]:
        explorer: Explorer = found.source
        (config,) = self.configs_of(matcher)
        begins = explorer.starts_of(config, keys, begun)
        if explorer.count > len(found.machine.block_of):
            found = self._keep(explorer.states, self._with_tokens(explorer))
        return found, found.starts(begins)

    def grid(self, length: int, after: Matcher | None, room: int, check: Callable[[], None]) -> TokenGrid:
        return JsonGrid(JsonRows(self, length, after, room, check))

    def configs_of(self, matcher: Matcher) -> list[Config]:
        epoch, state = matcher._head[1:3]
        return [epoch.terms[state]]


def check_spelling(program: JsonSchemaProgram) -> None:
    """UnsupportedFeature for what canvases do not fill in: blanks that are counted or asked for, several spellings of a value."""
    blanks = program.tables.blanks
    name = next((name for name in ("natural", "spaced", "flexible") if blanks is blanks_of(name)), None)
    if name is not None:
        what = "asks for blanks in some places" if name == "spaced" else "counts blanks"
        raise UnsupportedFeature(
            f'a canvas over a schema with whitespace="{name}", which {what}; leave it out (then canvases have any white '
            'space), or give "any", "compact" or a pattern'
        )
    if program.tables.spelling != "plain":
        raise UnsupportedFeature(
            'a canvas over a schema with spelling="any": canvases write characters without needless escapes and numbers as '
            "json.dumps does; leave spelling= out"
        )
