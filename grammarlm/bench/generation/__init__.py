"""Generated texts: JSONSchemaBench, with a model that writes under each engine's constraint.

jsonschemabench.py  the command                    prompts.py     a schema as a prompt, with examples
task.py       a child: schema -> outputs           models.py      what chooses tokens: transformers
scripted.py   a model that knows the answer        record.py      the record of a schema
validation.py a child: text -> valid or not        figures.py     records -> shares and times
report.py     figures -> tables
"""
