"""From a row of logits to a token: masking, filters, draws."""
