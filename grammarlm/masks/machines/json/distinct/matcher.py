"""A matcher with a budget: as FilteredJsonMatcher, it counts how far a budget lasts."""

from __future__ import annotations

from grammarlm.masks.filters.matcher import FilteredMatcher


class FilteredDistinctMatcher(FilteredMatcher):
    """A Matcher with filters, of texts whose items must differ."""

    __slots__ = ()
    _counts_safe_steps = True
