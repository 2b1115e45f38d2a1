"""TEXT -> PROGRAM: descriptions of languages, and their compilation to terms and rules for the lazy automata."""
