"""An audit as an assertion, for any test framework."""

from __future__ import annotations

from typing import Any

from dplitmus.auditing import audit
from dplitmus.verdict import Result, Verdict


class ViolatedError(AssertionError):
    """The claim is refuted; the message is the counterexample, `result` has everything."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"\n{result}")
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.result,))  # test runners send failures between processes


def assert_private(mechanism: Any, **settings: Any) -> Result:
    """Audit the mechanism; raise an AssertionError with the counterexample if the claim is refuted.

    `settings` are those of `dplitmus.audit`: epsilon, neighbours and so on. That nothing is raised does not
    show that the claim is true; the result says what the audit could have seen.

    >>> import dplitmus
    >>> dplitmus.assert_private(lambda x, n, rng: [x] * n, epsilon=1.0, neighbours=[(0, 1)], seed=1)
    Traceback (most recent call last):
        ...
    dplitmus.asserting.ViolatedError:
    <lambda>: VIOLATED  claimed epsilon 1, certified epsilon >= ...
    """
    result = audit(mechanism, **settings)
    if result.verdict is Verdict.VIOLATED:
        raise ViolatedError(result)
    return result
