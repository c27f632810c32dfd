"""Puts docs and changelog into the wheel, for `watchbook docs`. Everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithDocs(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the source tree has them
        manual = Path(self.build_lib) / "watchbook" / "manual"
        shutil.rmtree(manual, ignore_errors=True)
        shutil.copytree(ROOT / "docs", manual / "docs")
        shutil.copyfile(ROOT / "CHANGELOG.md", manual / "CHANGELOG.md")


setup(cmdclass={"build_py": BuildWithDocs})
