from __future__ import annotations

import os

from watchbook.base.store.folder import OLD_SECONDS, scratch, sweep_scratch


def test_folder_is_removed_after_use_and_an_unused_one_after_a_day(tmp_path, settings):
    settings.HOME = tmp_path
    with scratch("reading") as folder:
        (folder / "file").write_text("x")
        assert sweep_scratch() == 0
    assert not folder.exists()
    left = tmp_path / "scratch" / "reading-killed"
    left.mkdir()
    os.utime(left, (0, left.stat().st_mtime - OLD_SECONDS - 1))
    assert sweep_scratch() == 1
    assert not left.exists()
