"""The kernel that unrolls the JSON machine touches its own arrays alone: each lies between pages that can't be touched, in a
process that ends where it touches one."""

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.layout.json import At
from grammarlm.masks.canvas.json.states import explored
from tests.internals import program_of

TOKENS = [b"?", *(bytes([b]) for b in range(256)), b"."]
AROUND = 1 << 27  # bytes before and behind an array: twice what the fields of a state can count as keys
SPELLED = {"whitespace": "any", "spelling": "plain"}
ANY = gl.JsonSchema({}, **SPELLED)
OPEN = {
    "type": "object", "properties": {"id": {"type": "integer", "minimum": -70}, "on": {"enum": ["yes", "no"]}},
    "patternProperties": {"^b[0-9\u00e9]*$": {"type": "string", "pattern": "^[a-f]+$"}},
    "additionalProperties": {"type": "array", "items": {"enum": [1, "x"]}, "uniqueItems": True},
}  # fmt: skip
GRAMMARS = [
    ANY,
    gl.JsonSchema(OPEN, **SPELLED),
    gl.JsonSchema(OPEN, property_order="any", whitespace=" ?", spelling="plain"),
]
STATES = [explored.States(), explored.States(marks=2), explored.States((b"ab",), marks=1)]


def protect(array: np.ndarray, begin: int, end: int) -> None:
    """Pages of an array, from byte to byte, that can't be touched from now on."""
    call = ctypes.CDLL(None).mprotect
    call.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    assert call(array.ctypes.data + begin, end - begin, 0) == 0


class Walled:
    """Copies of arrays that end where a page begins that can't be touched; of each name only the latest can be."""

    def __init__(self) -> None:
        self._whole: dict[object, np.ndarray] = {}
        self._left: list[np.ndarray] = []

    def copy(self, name: object, array: np.ndarray) -> np.ndarray:
        pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, pages + 2 * AROUND, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole = np.frombuffer(memory, np.uint8)
        protect(whole, 0, AROUND)
        protect(whole, AROUND + pages, len(whole))
        begin = AROUND + (pages - array.nbytes) // 8 * 8
        made = whole[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        made[...] = array
        if name in self._whole:
            protect(self._whole[name], 0, len(self._whole[name]))
            self._left.append(self._whole[name])
        self._whole[name] = whole
        return made


class WalledExplorer(explored.Explorer):
    """Its arrays are small at first, so all of them grow."""

    def __init__(self, *arguments: object) -> None:
        self._walled = Walled()
        super().__init__(*arguments)
        rows, arena = self._walled.copy("rows", self._rows.rows), self.epoch.arena
        arena[At.PROGRAM], arena[At.BLOB] = rows.ctypes.data, rows.ctypes.data + self._rows.blob_at

    def put(self, field: int, array: np.ndarray) -> np.ndarray:
        return super().put(field, self._walled.copy(field, array))

    def grow_frames(self, capacity: int) -> None:
        super().grow_frames(capacity)
        frames = self.epoch.arrays["frames"] = self._walled.copy("frames", self.epoch.arrays["frames"])
        self.epoch.arena[At.FRAMES] = frames.ctypes.data


def explore_all() -> None:
    explored.FIRST_STATES, explored.FIRST_SPECIALS, explored.FIRST_FRAMES = 64, 512, 8
    for grammar in GRAMMARS:
        program = program_of(gl.compile(grammar, gl.Vocabulary(TOKENS, [257], [0, 257])))
        for states in STATES:
            start = explored.start_thread(program)
            found = WalledExplorer(program, states).run(start)
            want = explored.Explorer(program, states).run(start)
            assert len(found.states) > 64
            for array, other in ((found.next, want.next), (found.specials, want.specials)):
                assert (array == other).all()


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected as POSIX does")
def test_the_kernel_touches_its_own_arrays_alone() -> None:
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", __name__],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


if __name__ == "__main__":
    explore_all()
