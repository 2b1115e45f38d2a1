"""What every machine runs under: limits and their clock, locks, the size of a description."""
