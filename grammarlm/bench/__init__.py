"""Engines side by side on JSON schemas: MaskBench and the official test suite, as commands of the installed package.

    grammarlm bench maskbench DIR --engines grammarlm,llguidance
    grammarlm bench schema-suite DIR

A **case** is a schema with labelled instances. An engine runs in a child process, one case after the other, under a limit of time
and memory; its result for a case is a **record**, appended to a file, so that a run can be resumed. Outcomes are counted
separately; a verdict includes the end of the text.

    cases.py      files -> cases                         engines.py    one class an engine, one interface
    worker.py     the child process: case -> record      driver.py     the parent: limits, restarts, progress, files
    record.py     the record of a case                   figures.py    records -> counts and tails
    tables.py     figures -> Markdown                    pictures.py   records -> a plot
    comparison.py the report of several runs             arguments.py  the command line
"""
