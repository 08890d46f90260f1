"""The docs tell the truth: reference pages are what the records say, links lead somewhere."""

from __future__ import annotations

import pathlib
import re

import pytest

from toolbox import reference

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


MADE = reference.files()


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_from_the_records_is_what_they_say(name: str) -> None:
    assert (ROOT / name).read_text() == MADE[name], "stale: run python3 dev.py docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: pathlib.Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
