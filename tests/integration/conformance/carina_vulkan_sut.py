"""The same on a Vulkan device: compiles the graph for `--target vgf`, then `carina run --on vulkan` runs the program.

Environment variables (VK_...) select the device.
"""

from pathlib import Path

import carina_sut


class TosaSUTRunner(carina_sut.TosaSUTRunner):
    def commands(self, folder):
        program = Path(folder) / "m.pte"
        compiling = ["compile", self.testDirPath / self.testDesc["tosa_file"], "--target", "vgf", "-o", program]
        return [compiling, ["run", program, "--on", "vulkan", *self.inputs(), "-o", folder]]
