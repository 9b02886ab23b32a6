"""The cheapest one-to-one assignment."""

from __future__ import annotations

import math
from collections.abc import Sequence


def cheapest_assignment(costs: Sequence[Sequence[float]]) -> list[int]:
    """The column of each row so that the sum of costs is least, for a square matrix; exact, in O(n^3).

    Shortest augmenting paths with potentials (Jonker and Volgenant 1987): each row is added in turn, and the
    columns of earlier rows change along the cheapest path to a free one.
    """
    n = len(costs)
    row_potential, column_potential = [0.0] * n, [0.0] * (n + 1)
    row_of = [-1] * (n + 1)  # of each column; the last column stands for the row being added
    for row in range(n):
        row_of[n], column = row, n
        distance, before, is_done = [math.inf] * n, [n] * n, [False] * (n + 1)
        while row_of[column] != -1:
            is_done[column] = True
            current = row_of[column]
            for other in range(n):
                reduced = costs[current][other] - row_potential[current] - column_potential[other]
                if not is_done[other] and reduced < distance[other]:
                    distance[other], before[other] = reduced, column
            nearest = min((other for other in range(n) if not is_done[other]), key=distance.__getitem__)
            step = distance[nearest]
            for other in range(n):
                if is_done[other]:
                    row_potential[row_of[other]] += step
                    column_potential[other] -= step
                else:
                    distance[other] -= step
            row_potential[row] += step
            column_potential[n] -= step
            column = nearest
        while column != n:  # shift the rows along the path
            row_of[column] = row_of[before[column]]
            column = before[column]
    columns = [0] * n
    for column, row in enumerate(row_of[:n]):
        columns[row] = column
    return columns
