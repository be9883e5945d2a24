"""The journal of a run: the answers on its chunks, line by line, so that a killed run can go on.

Takes a path and the spec of a run; gives the answers of an earlier run with the same spec, as long as there
are some, and writes new ones behind them. A journal is data: nothing in it is executed, and a few lines are
in memory at a time.

Format, version 1. A line is `CHECKSUM PAYLOAD`: 16 hexadecimal digits and JSON. The first payload is
{"dplitmus-journal": 1, "spec": {...}, "own": ...}; the others are [[key...], data] in the order in which
chunks are merged. A checksum (BLAKE2b, 8 bytes) covers its payload and the checksum before it, so that a
line that is cut off, changed, missing or moved shows, and with it all that follow: they are cut off, and
drawn again.

Guarantee: a run that is continued ends with the result that it would have had. The search asks for answers
in an order that depends on the earlier answers and the spec alone; the first k come from the journal, the
others are drawn from the streams that belong to their keys. (A mechanism that does not replay goes on with
fresh draws: what is lost was seen by nobody. One whose own generator starts all over again is refused.)
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dplitmus.errors import InputError, one_line
from dplitmus.outputs import Batch, Geometry, row_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from dplitmus.neighbours import Pair

VERSION = 1
_LONGEST_LINE = 2**25  # bytes: three times what a chunk of 2**20 numbers takes
_END = object()
_BATCH_SECONDS = 1.0  # between two times that lines are forced to the disk


class Journal:
    """A file that is read to its end and then written on."""

    def __init__(self, path: str | os.PathLike[str], *, delay: float = 0.0, must_exist: bool = False) -> None:
        """Name it; a new one is begun after `delay` seconds, so that short runs leave no file."""
        self.path = Path(path)
        self.delay, self.must_exist = delay, must_exist
        self.failure: str | None = None  # why nothing is written any more
        self.kept = 0  # answers of an earlier run
        self._header: dict[str, Any] = {}
        self._chain = b""
        self._file: IO[bytes] | None = None
        self._reading = False
        self._waiting: list[tuple[tuple[int, ...], Callable[[], Any]]] = []
        self._next_write = 0.0

    def seed(self) -> int | None:
        """The seed of the run that began the file."""
        self._open()
        spec = self._first_line()["spec"]
        self.close()
        self._chain, self._reading = b"", False
        seed = spec.get("seed")
        return seed if isinstance(seed, int) and not isinstance(seed, bool) else None

    def begin(self, spec: Mapping[str, Any], *, own: str | None = None) -> None:
        """The journal of a run with this spec: a new one, or the rest of an earlier one.

        `own` names the first outputs of a mechanism that does not replay. If the earlier run began with the
        same, its noise starts all over again: what is drawn now would repeat what is recorded.
        """
        self._header = {"dplitmus-journal": VERSION, "spec": json.loads(json.dumps(dict(spec))), "own": own}
        self._next_write = time.monotonic() + self.delay
        if self.must_exist or self.path.exists():
            self._open()
            try:
                header = self._first_line()
                self._compare(header["spec"])
                if own is not None and header.get("own") == own:
                    raise refusal(self.path, "the mechanism holds a generator that starts all over again")
            except InputError:
                self._abandon()
                raise

    def reserve(self, key: tuple[int, ...]) -> Any:
        """The recorded data on the next chunk, which must have this key; None if there is none."""
        if not self._reading:
            return None
        record = self._read()
        if record is _END:
            self._turn_to_writing()
            return None
        fits = isinstance(record, list) and len(record) == 2 and record[0] == list(key)
        if not fits or record[1] is None:
            raise refusal(self.path, "its entries are not those of this run")
        self.kept += 1
        return record[1]

    def append(self, key: tuple[int, ...], data: Callable[[], Any]) -> None:
        """Record an answer; `data` is asked for when the line is written, about once a second."""
        if self.failure is None:
            self._waiting.append((key, data))
            if time.monotonic() >= self._next_write:
                self.flush()

    def flush(self) -> None:
        """Write what is waiting, and force it to the disk; a full disk ends the journal, not the run.

        All of it or nothing: what an interrupt leaves half-written is taken back, and `close` writes it.
        """
        if self.failure is not None or self._reading:
            return
        batch, place, chain = self._waiting, 0, self._chain
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("xb")
                _lock(self._file, self.path)
                _keep_name(self.path)
            place = self._file.tell()
            if not place:
                self._file.write(self._line(self._header))
            for key, data in batch:
                self._file.write(self._line([list(key), data()]))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._waiting = []
        except OSError as error:
            self.failure = error.strerror or str(error)
            self._waiting = []
        except KeyboardInterrupt:
            if self._file is not None and self._waiting is batch:
                self._file.seek(place)
                self._file.truncate()
                self._chain = chain
            raise
        self._next_write = time.monotonic() + _BATCH_SECONDS

    def close(self) -> None:
        """Write what is waiting, if the file was begun, and let go of it."""
        if self._file is not None:
            self.flush()
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    @property
    def begun(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def _open(self) -> None:
        try:
            self._file = self.path.open("r+b")
        except OSError as error:
            raise refusal(self.path, error.strerror or str(error)) from error
        self._reading = True
        try:
            _lock(self._file, self.path)
        except InputError:
            self._abandon()
            raise

    def _abandon(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _first_line(self) -> dict[str, Any]:
        header = self._read()
        if not isinstance(header, dict) or not isinstance(header.get("spec"), dict):
            raise refusal(self.path, "it is no journal of dplitmus")
        version = header.get("dplitmus-journal")
        if version != VERSION:
            shown = one_line(repr(version), 40)
            raise refusal(self.path, f"its version is {shown}, and this dplitmus reads {VERSION}")
        return header

    def _compare(self, spec: dict[str, Any]) -> None:
        ours = self._header["spec"]
        for name in [*ours, *(name for name in spec if name not in ours)]:
            if ours.get(name) != spec.get(name):
                shown = one_line(repr(spec.get(name)), 60)
                asked = one_line(repr(ours.get(name)), 60)
                raise refusal(self.path, f"it is of another run: {name} was {shown}, and now is {asked}")

    def _read(self) -> Any:
        """The next payload, or `_END` where the file ends or is damaged; the file then stands before it."""
        assert self._file is not None  # noqa: S101  (only while it is read)
        place = self._file.tell()
        line = self._file.readline(_LONGEST_LINE)
        checksum, _, payload = line.partition(b" ")
        if not line.endswith(b"\n") or checksum != self._checksum(payload[:-1]):
            self._file.seek(place)
            return _END
        self._chain = checksum
        try:
            return json.loads(payload, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise refusal(self.path, "a line of it is not JSON") from error

    def _turn_to_writing(self) -> None:
        """Cut off what is damaged, and go on from there."""
        assert self._file is not None  # noqa: S101  (only after it was read)
        self._reading = False
        try:
            self._file.truncate()
        except OSError as error:
            self.failure = error.strerror or str(error)

    def _line(self, payload: Any) -> bytes:
        text = json.dumps(payload, allow_nan=False, separators=(",", ":")).encode()
        self._chain = self._checksum(text)
        return self._chain + b" " + text + b"\n"

    def _checksum(self, payload: bytes) -> bytes:
        return hashlib.blake2b(payload, key=self._chain, digest_size=8).hexdigest().encode()


def refusal(path: str | os.PathLike[str], reason: str) -> InputError:
    """DP234: this journal cannot be used."""
    return InputError(
        f"cannot resume from {str(path)!r}: {reason}",
        code="DP234",
        help="give the command of the first run, and the journal that it named; or start afresh",
    )


def array_as_data(array: NDArray[Any]) -> str:
    """The bytes of an array."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def array_from_data(data: Any, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of this type and shape, or ValueError."""
    size = int(np.dtype(dtype).itemsize * np.prod(shape, dtype=object))
    if not isinstance(data, str) or len(data) != 4 * -(-size // 3):
        raise ValueError("the bytes of an array")
    return (
        np.frombuffer(base64.b64decode(data, validate=True), dtype=dtype)[: np.prod(shape)]
        .reshape(shape)
        .copy()
    )


def batch_as_data(batch: Batch) -> dict[str, Any]:
    """Outputs as plain data; keys only where they do not follow from the numbers."""
    data: dict[str, Any] = {
        "shape": list(batch.values.shape),
        "values": array_as_data(batch.values),
        "labels": array_as_data(np.packbits(batch.labels)),
    }
    if batch.names or not np.array_equal(row_keys(batch.values), batch.keys):
        data["keys"] = array_as_data(batch.keys)
        data["names"] = {str(key): text for key, text in batch.names.items()}
    return data


def batch_from_data(data: Any, pair: Pair, most: int) -> Batch:
    """Outputs on a pair, at most so many; or ValueError."""
    rows, columns = (whole(number, 2**26) for number in _items(data, "shape", list, 2))
    if rows > most:
        raise ValueError("more outputs than draws")
    values = array_from_data(data.get("values"), "float64", (rows, columns))
    bits = array_from_data(data.get("labels"), "uint8", (-(-rows // 8),))
    labels = np.unpackbits(bits, count=rows).astype(bool)
    keys, names = row_keys(values), {}
    if "keys" in data:
        keys = array_from_data(data["keys"], "uint64", (rows,))
        for key, text in _items(data, "names", dict, None).items():
            if not isinstance(text, str) or not key.isdecimal() or len(key) > 20:
                raise ValueError("the name of an output")
            names[int(key)] = text
    return Batch(values, keys, labels, Geometry.of(pair.x, pair.x_prime, columns), names)


def whole(number: Any, most: int) -> int:
    """A count from 0 to `most`, or ValueError."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
        raise ValueError("a whole number")
    return number


def _items(data: Any, name: str, kind: type, length: int | None) -> Any:
    found = data.get(name) if isinstance(data, dict) else None
    if not isinstance(found, kind) or (length is not None and len(found) != length):  # type: ignore[arg-type]
        raise ValueError(name)
    return found


def _no_constant(name: str) -> float:
    raise ValueError(name)  # bare NaN and Infinity are no JSON


def _keep_name(path: Path) -> None:
    """Force the name of a new file to the disk: without it a loss of power may take the file away."""
    with contextlib.suppress(OSError):  # not every system can do it
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _lock(file: IO[bytes], path: Path) -> None:
    """Two runs must not write to one journal."""
    if os.name != "posix":
        return
    import fcntl  # noqa: PLC0415  (where there is one)

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise refusal(path, "another run is writing to it") from error
