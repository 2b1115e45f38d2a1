"""Arguments of calls that are written one by one, as entries."""
