"""Commands of the command line that look at a grammar: `grammarlm check` and `grammarlm inspect`."""
