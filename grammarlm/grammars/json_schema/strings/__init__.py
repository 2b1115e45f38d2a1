"""Languages of strings: patterns, formats, lengths."""
