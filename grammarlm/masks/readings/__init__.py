"""How a finished text is read back along the named parts of its grammar."""
