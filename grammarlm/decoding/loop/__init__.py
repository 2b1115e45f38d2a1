"""The decoding loop: one text a row, all rows of a batch at once."""
