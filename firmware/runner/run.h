#pragma once

namespace carina::firmware {

// Runs the model of the image as the arguments ask for, with a log as ExecuTorch's executor runner for Arm writes it.
// Returns the exit status: 0, or 1 with the reason on the console.
int run();

}  // namespace carina::firmware
