"""Strongly connected components of a graph: which rules call each other."""

from __future__ import annotations

from collections.abc import Callable


def components(graph: dict, tick: Callable[[], None]) -> list[list]:
    """Strongly connected components (Tarjan's algorithm, iterative), each before the components that lead to it."""
    index: dict = {}
    low: dict = {}
    on_path: set = set()
    path: list = []
    found: list[list] = []
    for root, begins in graph.items():
        if root in index:
            continue
        work = [(root, iter(begins))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            tick()
            node, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    path.append(target)
                    on_path.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_path and index[target] < low[node]:
                    low[node] = index[target]
            else:
                work.pop()
                lowest = low[node]
                if work and lowest < low[work[-1][0]]:
                    low[work[-1][0]] = lowest
                if lowest == index[node]:
                    component = []
                    while True:
                        member = path.pop()
                        on_path.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found
