"""The same by way of VGF: the graph is written as a .vgf, and that is what the interpreter is given."""

from pathlib import Path

import carina_sut


class TosaSUTRunner(carina_sut.TosaSUTRunner):
    def commands(self, folder):
        file = Path(folder) / "m.vgf"
        return [["tosa", self.testDirPath / self.testDesc["tosa_file"], "-o", file], ["interpret", file, *self.inputs(), "-o", folder]]
