"""What is asked for on the command line, handed on to the driver of each engine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """`scenes` empty means all of them."""

    is_quick: bool = False
    seed: int = 1
    scenes: tuple[str, ...] = ()

    def words(self) -> list[str]:
        chosen = [word for scene in self.scenes for word in ("--scene", scene)]
        return ["--seed", str(self.seed), *(["--quick"] if self.is_quick else []), *chosen]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="embedded only, each point once, 8 kills")
    parser.add_argument("--seed", type=int, default=1, help="of the random kills")
    parser.add_argument("--scene", action="append", default=[], help="only this scene; may be given more than once")


def read_options(chosen: argparse.Namespace) -> Options:
    return Options(chosen.quick, chosen.seed, tuple(chosen.scene))
