"""A suffix tree of texts of tokens: what followed the last tokens of a text in this one and in those before it, and how often.

A **window** is what stands at a place of a text: DEPTH tokens, or as many as there are. The tree has all windows, each a path from
the root; an edge has one or more tokens, and stands for them by a place in the text where they are. A node counts the windows that
go along its edge, so that a path of tokens is counted as often as it occurs.

A text grows by a token at a time. Its last places have windows that are not complete; each has a **cursor**, the place in the
tree that it has come to, and a token moves them all: along an edge, to a child, or off the tree, which makes a leaf. The leaf of a
window alone grows with it. When a text ends, each cursor within an edge splits it there: from then on counts are exact.

The oldest place is forgotten by walking down its window once more: counts fall, what is counted by none is cut off. An edge stands
for the latest text that went along it, so that what is remembered never refers to what is forgotten.

    tree.py      nodes, their children, cuts and joints      append.py    a text grows, ends, is forgotten
    match.py     the longest suffix that is known            propose.py   its likeliest continuations
    branches.py  the runs of a draft tree
"""
