"""The JSON machine: `step` reads a byte, `rows` makes rows of one thread, the files here join them to masks of a text."""
