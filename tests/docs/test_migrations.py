"""Migrations are frozen: what is written down in digests.txt cannot change or go away."""

from __future__ import annotations

from tests.docs import migrations


def test_existing_migrations_did_not_change():
    folders = list(migrations.folders())
    assert len(folders) >= 15
    assert [fault for folder in folders for fault in migrations.faults(folder)] == []


def test_changed_new_and_removed_migrations_are_named(tmp_path, monkeypatch):
    folder = tmp_path / "watchbook" / "migrations"
    folder.mkdir(parents=True)
    monkeypatch.setattr(migrations, "ROOT", tmp_path)
    for name in ("0001_initial.py", "0002_more.py"):
        (folder / name).write_text(f"# {name}\n")
    migrations.add_new()
    assert list(migrations.faults(folder)) == []

    (folder / "0001_initial.py").write_text("# rewritten\n")
    (folder / "0002_more.py").unlink()
    (folder / "0003_new.py").write_text("# new\n")
    changed, gone, new = migrations.faults(folder)
    assert "0001_initial.py was changed. Add a new migration instead" in changed
    assert "0002_more.py is gone" in gone
    assert "0003_new.py is new and not listed. Run `make docs`." in new

    migrations.add_new()
    assert [fault.split(". ")[0].split("/")[-1] for fault in migrations.faults(folder)] == [
        "0001_initial.py was changed",
        "0002_more.py is gone",
    ]
