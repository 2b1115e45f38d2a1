"""From a grammar with rules to a stack table: what each token does, found byte by byte."""
