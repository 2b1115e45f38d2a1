"""How a text of a grammar with a stack can end."""
