"""TEXT -> PROGRAM: descriptions of languages, and what a lazy automaton is made from."""
