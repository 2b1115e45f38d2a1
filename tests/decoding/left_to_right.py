"""The methods that write from left to right: all but diffusion, which fills rows and has tests of its own."""

from grammarlm.decoding.systems import METHODS

LEFT_TO_RIGHT = tuple(name for name in METHODS if name != "diffusion")
