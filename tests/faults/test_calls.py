"""Exceptions as outputs, and calls in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dplitmus
from dplitmus import Result, executors
from dplitmus.errors import InputError, MechanismError
from dplitmus.isolation import memory_limit
from dplitmus.shipping import Handling, Parcel
from dplitmus.target import load

Audit = Callable[..., Result]
RUN: dict[str, Any] = {"epsilon": 1.0, "neighbours": [(0.0, 1.0)], "samples": 2000, "seed": 1}


def leaky(x: float, n: int, rng: np.random.Generator) -> Any:
    """Its outputs say nothing, its exceptions everything: half of the calls on 1 fail."""
    if x == 1 and rng.random() < 0.5:
        raise RuntimeError("a secret")
    return rng.random(n)


def seldom(x: float, n: int, rng: np.random.Generator) -> Any:
    """Raises once in a thousand calls, whatever its input."""
    if rng.random() < 0.001:
        raise OSError("a network")
    return x + rng.laplace(size=n)


def test_an_exception_ends_the_run_unless_told_otherwise() -> None:
    with pytest.raises(MechanismError, match=r"DP401.*RuntimeError"):
        dplitmus.audit(leaky, **RUN)


def test_an_exception_is_an_output_and_leaks() -> None:
    result = dplitmus.audit(leaky, on_error="symbol", **RUN)
    assert result.verdict == "violated"
    assert result.counterexample is not None
    assert "raised RuntimeError" in result.counterexample.event
    assert "DP331" in [note.code for note in result.notes]
    assert result.on_error == "symbol"


def test_a_call_that_is_made_again_is_told_and_hides_what_the_exception_said() -> None:
    result = dplitmus.audit(leaky, on_error="retry", **RUN)
    assert result.verdict == "not-found"
    note = next(note for note in result.notes if note.code == "DP331")
    assert "what was audited is the mechanism with this retry" in note.text


@pytest.mark.parametrize("on_error", ["symbol", "retry"])
def test_failures_that_have_nothing_to_do_with_the_input_accuse_nobody(on_error: str) -> None:
    result = dplitmus.audit(seldom, on_error=on_error, **RUN | {"samples": 4000})
    assert result.verdict == "not-found"


def test_exceptions_among_vectors_leave_their_numbers_to_the_experts() -> None:
    def vectors(x: float, n: int, rng: np.random.Generator) -> Any:
        if rng.random() < 0.1:
            raise ValueError
        return x + rng.laplace(scale=0.5, size=(n, 3))

    result = dplitmus.audit(vectors, on_error="symbol", **RUN)
    assert result.verdict == "violated"
    again = dplitmus.audit(vectors, on_error="symbol", **RUN)
    assert result == again


def test_a_mechanism_that_only_raises_has_one_output() -> None:
    result = dplitmus.audit(lambda x, n, rng: 1 / 0, on_error="symbol", **RUN | {"samples": 200})
    assert result.verdict == "not-found"
    with pytest.raises(MechanismError, match="DP401"):
        dplitmus.audit(lambda x, n, rng: 1 / 0, on_error="retry", **RUN)


def test_the_policy_is_in_the_finding_and_in_its_replay(tmp_path: Any, audit: Audit) -> None:
    result = audit("laplace", on_error="symbol", samples=500)
    result.save(tmp_path / "finding.json")
    assert dplitmus.replay(tmp_path / "finding.json").result.on_error == "symbol"


def test_a_call_in_a_fresh_process_remembers_nothing(audit: Audit) -> None:
    """Outputs that count calls are all one on an input; in this process they are not."""
    assert "DP304" in [note.code for note in audit("remembers", isolate=True, samples=20).notes]
    assert "DP304" not in [note.code for note in audit("remembers", samples=20).notes]


def test_an_isolated_mechanism_draws_what_it_draws_here(audit: Audit) -> None:
    import dataclasses

    isolated = audit("laplace", isolate=True, samples=24, piece=8)
    assert dataclasses.replace(isolated, isolate=False) == audit("laplace", samples=24, piece=8)
    assert isolated == audit("laplace", isolate=True, samples=24, piece=8, on="processes:2")


def test_isolated_calls_in_flight_may_return_outputs_of_any_length(audit: Audit) -> None:
    assert audit("several", isolate=True, samples=200).verdict == "violated"


@pytest.mark.parametrize("words", ["loky:1", "dask:local:1"])
def test_calls_are_isolated_on_workers_that_may_have_no_children_or_start_them_their_own_way(
    words: str, audit: Audit, tmp_path: Path
) -> None:
    """Dask's workers are daemonic, loky's have a start method that no fresh process knows."""
    del audit  # its directory and its mechanisms
    target = f"{tmp_path / 'noise_of_faults.py'}:laplace"
    parcel = Parcel(load(target, epsilon=1.0, dimension=1), Handling(isolate=True), target)
    expected = parcel.mechanism(0.0, 3, np.random.default_rng(1))
    with executors.opened(words) as executor:
        drawn = executor.submit(lambda: parcel.callee.call(0.0, 3, np.random.default_rng(1))).result(120)
    assert expected.tolist() == drawn.tolist()


@pytest.mark.parametrize(
    ("name", "limits", "words"),
    [
        ("hungry", {"memory_limit": 2**32}, r"DP432.*more memory than it may"),
        ("dies", {}, r"DP432.*ended with status 5"),
        ("sleeps", {"call_timeout": 3.0}, r"DP406.*did not return"),
        ("held", {"on_error": "sideways"}, r"DP201.*on_error='sideways' must be one of"),
    ],
)
def test_an_isolated_call_that_fails_is_told_and_leaves_nothing(
    name: str, limits: dict[str, Any], words: str, audit: Audit
) -> None:
    with pytest.raises((MechanismError, InputError), match=words):
        audit(name, isolate=True, **limits)


def test_a_memory_limit_needs_isolation() -> None:
    with pytest.raises(InputError, match=r"memory_limit=.* must come with isolate=True"):
        dplitmus.audit(seldom, memory_limit=2**30, **RUN)


@pytest.mark.parametrize(("words", "number"), [("512M", 2**29), ("4G", 2**32), ("1.5gb", 3 * 2**29)])
def test_memory_in_words(words: str, number: int) -> None:
    assert memory_limit(words) == number


@pytest.mark.parametrize("words", ["", "G", "lots", "-4G", "1", "1e99T", "nan", "infG"])
def test_memory_in_other_words_is_refused(words: str) -> None:
    with pytest.raises(InputError, match=r"memory_limit=.* must"):
        memory_limit(words)


def test_the_command_to_paste_is_the_one_that_was_typed() -> None:
    from dplitmus import cli
    from dplitmus.console import command_again

    seen = []

    def spy(*_: Any, **__: Any) -> None:
        seen.append(command_again({"seed": "7", "resume": "a file"}))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dplitmus.audit", spy, raising=False)
        CliRunner().invoke(cli.cli, ["audit", "zoo:copy", "--pair", "[0, 1]", "1", "--isolate"])
    assert seen == ["cli audit zoo:copy --pair '[0, 1]' 1 --isolate --resume 'a file' --seed 7"]


def test_what_cannot_travel_cannot_be_isolated() -> None:
    secret = SystemRandom()  # has no state to send
    with pytest.raises(InputError, match=r"DP231(.|\n)*cannot be sent to another process"):
        dplitmus.audit(lambda x, n: [x + secret.random() for _ in range(n)], isolate=True, **RUN)


def test_isolated_calls_share_imports_but_no_random_state(tmp_path: Path) -> None:
    """The server has imported scipy, and with it numpy's global generator: every call must seed it anew."""
    (tmp_path / "noisy.py").write_text(
        "import sys\nearlier = 'scipy.special' in sys.modules\n"
        "import numpy as np\nimport scipy.special\n"
        "def laplace(x, n):\n    return [(earlier, float(number)) for number in np.random.laplace(size=n)]\n"
    )
    (tmp_path / "twice.py").write_text(
        "import numpy as np\nimport noisy\n"
        "from dplitmus.isolation import Isolated, Limits\nfrom dplitmus.shipping import Parcel\n"
        "if __name__ == '__main__':\n"
        "    call = Isolated(Parcel(noisy.laplace, target='noisy:laplace'), 'laplace', Limits())\n"
        "    first, second = (call(0.0, 4, np.random.default_rng(1)) for _ in range(2))\n"
        "    print(all(there for there, _ in first), len({number for _, number in first + second}))\n"
    )
    ran = subprocess.run(
        [sys.executable, "twice.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["True", "8"]
