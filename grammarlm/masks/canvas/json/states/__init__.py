"""The states of the JSON machine without the keys that were read: what is unrolled, pushed, counted, tracked."""
