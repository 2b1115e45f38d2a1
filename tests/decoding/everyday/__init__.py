"""What one uses every day, with many answers of random weights and of the embedded model."""
