"""What every code means: one page per code, DPnnn.md beside this file, with five fixed headings."""

from __future__ import annotations

from importlib import resources

from dplitmus.errors import InputError, did_you_mean


def codes() -> list[str]:
    """All codes that have a page, in order."""
    names = (entry.name for entry in resources.files(__package__).iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


def explanation(code: str) -> str:
    """The page of one code, or a refusal with the closest one."""
    wanted = code.strip().upper()
    if wanted not in codes():
        hint = did_you_mean(wanted, codes()) or "every message shows its code in brackets"
        raise InputError(f"no code {code!r}", code="DP208", help=hint)
    page = resources.files(__package__).joinpath(f"{wanted}.md")
    return page.read_text(encoding="utf-8").strip()
