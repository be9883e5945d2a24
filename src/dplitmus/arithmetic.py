"""How experts count: any numbers will do, and one core is enough.

Their matrices are small. A BLAS that shares them out to all cores takes as long, and its threads keep their
cores busy while they wait for more: CPU that the mechanism, or somebody else, could use.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def careful() -> Iterator[None]:
    """Numbers as large as floats can be raise no warning, and matrices stay on this core.

    The mechanism is called outside of it: its own matrices have all cores.
    """
    with _blas().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        yield


@functools.cache
def _blas() -> ThreadpoolController:
    """The libraries that numpy has loaded: to look for them takes a millisecond."""
    return ThreadpoolController()
