"""From schemas to the rows of a program: plain schemas directly, others by way of their normal form."""
