"""PROGRAM x VOCABULARY -> MASKS: constraints and matchers, over whichever machine a grammar needs."""
