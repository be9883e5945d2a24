"""Audit what a library can make with default parameters, and write a page for each refuted claim.

python examples/libraries/whole_library.py opendp 20000 opendp.html

The command line does the same with a live table:  dplitmus audit-library opendp --html opendp.html
"""

from __future__ import annotations

import sys
from pathlib import Path

import dplitmus
from dplitmus import libraries


def main(library: str, samples: int, page: str, *only: str) -> None:
    """A line for each mechanism, and a page for each that is refuted."""
    for name, mechanism in libraries.stock(library, only).mechanisms.items():
        result = dplitmus.audit(mechanism, samples=samples, seed=1)
        print(f"{name:<28}{result.claim.epsilon:>8.4g}{result.epsilon_lower:>10.4f}  {result.verdict}")
        if result.verdict == "violated":
            result.to_html(Path(page).with_stem(f"{Path(page).stem}-{name}"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
