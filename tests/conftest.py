"""What several tests share."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parents[1]

# Time is never asserted (a busy machine is no bug), and the same commit tries the same examples.
settings.register_profile("dplitmus", deadline=None, derandomize=True)
settings.load_profile("dplitmus")

# A shell that starts the tests in the background makes them, and what they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run the command line in a real terminal; give its exit status and all that it showed."""

    def run(*arguments: str, columns: int = 40, **variables: str) -> tuple[int, str]:
        reader, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        process = subprocess.Popen(
            [sys.executable, "-m", "dplitmus", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=screen,
            stderr=screen,
            cwd=tmp_path,
            env=inherited | variables,
        )
        os.close(screen)
        shown = b""
        while True:
            try:
                part = os.read(reader, 1 << 16)
            except OSError:  # Linux: the last writer has gone
                break
            if not part:
                break
            shown += part
        os.close(reader)
        return process.wait(timeout=60), shown.decode(errors="replace").replace("\r\n", "\n")

    return run


@pytest.fixture(scope="session")
def published_losses() -> Path:
    """Locate the authors' published results, which are not part of this repository.

    They are looked for in $DPLITMUS_DATA, or in shared/data beside the clone.
    """
    data = Path(os.environ.get("DPLITMUS_DATA", REPOSITORY.parent / "shared" / "data"))
    path = data / "paper" / "published_losses.json"
    if not path.is_file():
        pytest.skip(f"no {path.name}: set DPLITMUS_DATA to the directory that holds paper/")
    return path
