"""The machine of verbatim quotes: a state is one of the suffix automaton of the document."""
