"""Engines side by side on JSON schemas: MaskBench and the official test suite, as commands of the installed package.

    grammarlm bench maskbench DIR --engines grammarlm,llguidance
    grammarlm bench schema-suite DIR

A **case** is a schema with labelled instances. An engine runs in a process of its own, one case after the other, under a limit of
time and memory; what it says of a case is a **record**, appended to a file, so that a run can be taken up again. Outcomes are
counted apart; a verdict includes the end of the text.

    cases.py      files -> cases                         engines.py    one class an engine, five verbs
    worker.py     the child process: case -> record      driver.py     the parent: limits, restarts, progress, files
    record.py     what a record says                     figures.py    records -> counts and tails
    tables.py     figures -> Markdown                    pictures.py   records -> a picture
    comparison.py several runs, told together            arguments.py  the command line
"""
