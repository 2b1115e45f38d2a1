"""A JSON schema as a machine with registers: program rows, tables of the vocabulary, mask rows, budgets."""
