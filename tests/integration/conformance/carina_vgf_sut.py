"""Carina as a system under test through VGF: writes the graph as a .vgf and interprets that file."""

from pathlib import Path

import carina_sut


class TosaSUTRunner(carina_sut.TosaSUTRunner):
    def commands(self, folder):
        file = Path(folder) / "m.vgf"
        return [
            ["tosa", self.testDirPath / self.testDesc["tosa_file"], "-o", file],
            ["interpret", file, *self.inputs(), "-o", folder],
        ]
