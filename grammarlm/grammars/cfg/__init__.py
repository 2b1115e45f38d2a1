"""Context-free grammars: rules, recursion as terms, and how descriptions are put together to one grammar."""
