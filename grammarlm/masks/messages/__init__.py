"""What is said of grammars and tokens that are refused, and of words that no schema knows."""
