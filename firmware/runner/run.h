#pragma once

namespace carina::firmware {

// Runs the model of the image as the arguments say. The log has the form of ExecuTorch's executor runner for Arm.
// Returns the exit status: 0, or 1 with the reason on the console.
int run();

}  // namespace carina::firmware
