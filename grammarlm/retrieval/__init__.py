"""Items by the million: item sets that change, and beam searches over them."""
