from __future__ import annotations

from pathlib import Path

import pytest

from dplitmus import store
from dplitmus.errors import InputError


def test_a_file_is_written_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    file = store.prepare_file(tmp_path / "new" / "result.json")
    store.write(file, "old")
    store.write(file, "new")
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in file.parent.iterdir()] == ["result.json"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store.write(tmp_path / "result.json", "old")

    def disk_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", disk_full)
    with pytest.raises(InputError, match=r"error\[DP206\].*No space left on device"):
        store.write(file, "new")
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_unwritable_places_are_found_beforehand(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(InputError, match="DP206"):
        store.prepare_directory(occupied / "inside")
    with pytest.raises(InputError, match="DP206"):
        store.prepare_file(occupied / "inside" / "result.json")
    with pytest.raises(InputError, match="is a directory"):
        store.prepare_file(tmp_path)
