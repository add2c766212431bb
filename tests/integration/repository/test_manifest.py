"""The names that programs of users rely on are those of interface_manifest.json (docs/stability.md)."""

import sys

import interface_manifest


def test_nothing_that_users_rely_on_has_changed(carina):
    made = interface_manifest.text_of(interface_manifest.manifest(carina, sys.executable))
    assert made == interface_manifest.FILE.read_text(), (
        "after a change on purpose: python tests/integration/repository/interface_manifest.py"
    )


def test_keys_have_paths():
    assert sorted(interface_manifest.keys({"a": [{"b": 1}, {"c": {"d": 2}}]})) == ["a", "a[].b", "a[].c", "a[].c.d"]
