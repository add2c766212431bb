"""The names that programs of users rely on are those of manifest.json (docs/stability.md)."""

import sys

import manifest


def test_nothing_that_users_rely_on_has_changed(carina):
    made = manifest.text_of(manifest.manifest(carina, sys.executable))
    assert made == manifest.FILE.read_text(), "after a change on purpose: python tests/integration/manifest.py"


def test_keys_have_paths():
    assert sorted(manifest.keys({"a": [{"b": 1}, {"c": {"d": 2}}]})) == ["a", "a[].b", "a[].c", "a[].c.d"]
