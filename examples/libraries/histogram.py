"""One histogram under two neighbour relations: it keeps its promise, and seems to break another.

dplitmus audit examples/libraries/histogram.py:under_add_remove --samples 50000
dplitmus audit examples/libraries/histogram.py:under_replace_one --samples 50000
"""

from __future__ import annotations

from diffprivlib import tools

from dplitmus.adapters import adapt

# What diffprivlib promises: a cell moves by 1 when a record is added or removed.
under_add_remove = adapt(tools.histogram, range=(0.0, 2.0), bins=2)
# What it does not: a replaced record moves two cells.
under_replace_one = adapt(tools.histogram, range=(0.0, 2.0), bins=2, relation="replace-one")
