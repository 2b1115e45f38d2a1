"""One byte of a JSON text: values, strings, numbers, keys, and what a schema demands of them."""
