"""Choices as a classifier: one of a few names, and how sure the model was of it."""

import math

import grammarlm as gl

FUNCTIONS = ["send_message", "set_alarm", "set_timer", "convert", "get_weather", "book_table"]

model, tokenizer = gl.load_tiny()
for request in ("Set a timer for 25 minutes.", "Will it rain in Oslo on Friday?", "How many yen are 20 euros?"):
    out = gl.generate(model, f'{request}\n{{"function":"', tokenizer=tokenizer, choices=FUNCTIONS)
    print(f"{request:<34}{out.text:<14}{math.exp(sum(out.logprobs)):.0%}")
