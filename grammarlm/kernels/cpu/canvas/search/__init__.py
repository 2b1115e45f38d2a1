"""The best completion of a row, and samples, led by bounds."""
