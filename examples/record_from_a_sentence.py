"""A sentence becomes a record: the regex says which records there are, the model which one it is."""

import json

import grammarlm as gl

NAME = r"[A-Z][a-z]{1,15}"
RECORD = rf'\{{"name":"{NAME} {NAME}","age":[1-9][0-9]?,"city":"{NAME}","job":"[a-z]{{3,15}}"\}}'

model, tokenizer = gl.load_tiny()
out = gl.generate(model, "Ada Lovelace (36) is a writer from London.\n", tokenizer=tokenizer, regex=RECORD)

print(json.loads(out.text))
print(f"{out.stats.tokens} tokens, {sum(out.stats.mass_removed) / out.stats.tokens:.1%} of the probability removed")
