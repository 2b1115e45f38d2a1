"""States and lookaheads of LALR(1) parsers: one kernel over integers, in one room."""
