"""Writing results to disk: whole files or none, one writer at a time, refusal before the work, not after."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dplitmus.errors import InputError

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


def prepare_directory(path: str | os.PathLike[str]) -> Path:
    """Make the directory and prove that a file can be written there, or refuse with DP206."""
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise _unwritable(directory, error) from error
    return directory


def prepare_file(path: str | os.PathLike[str]) -> Path:
    """Prove that the file can be written, without touching it, or refuse with DP206."""
    file = Path(path)
    try:
        if file.is_dir():
            raise InputError(f"{str(file)!r} is a directory", code="DP206", help="name a file in it")
        file.exists()  # a name that is too long shows here
    except OSError as error:
        raise _unwritable(file, error) from error
    prepare_directory(file.parent)
    return file


def write(path: Path, content: str | bytes) -> Path:
    """Write the whole file or leave what was there: a reader never sees half of it.

    A link is followed. What is no file (a pipe, a terminal) is written to, not replaced.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    temporary = None
    try:
        place = path.resolve()
        if place.exists() and not place.is_file():
            place.write_bytes(data)
            return path
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".dplitmus-", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
        temporary.chmod(0o644)  # a temporary file is private, a result is not
        temporary.replace(place)
        temporary = None
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
    return path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of this file, and hold it.

    The lock is on a file beside it, `NAME.lock`, for `write` replaces the file itself. The operating system
    gives it back when a process ends, however it ends: nothing is left to clear away.
    """
    beside = path.with_name(f"{path.name}.lock")
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(beside.open("ab"))
            if sys.platform == "win32":  # pragma: no cover
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise _unwritable(beside, error) from error
        yield


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write to {str(path)!r}: {error.strerror or error}",
        code="DP206",
        help="name a place you may write to, with --out or --json",
    )
