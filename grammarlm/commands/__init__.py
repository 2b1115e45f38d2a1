"""Commands of the command line: `grammarlm generate`, `check` and `inspect`."""
