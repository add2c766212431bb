// Adds the options of a run that keeps state: carina run and carina qemu.
#pragma once

#include <CLI/CLI.hpp>

#include "option_values.h"

namespace carina::cli {

// `request` has sequence, sound, reset_every, state_in and state_out. Call it after --input is added.
template <typename Request>
void add_state_options(CLI::App& app, Request& request) {
  app.add_option("--sequence", request.sequence,
                 "Like -i, for a program that keeps state: the first axis of each array is time. Outputs have it too.\n"
                 "A .wav of one channel is cut into steps of the input's size")
      ->allow_extra_args(false)
      ->excludes("--input")
      ->transform(input_path());
  app.add_option("--sample-rate", request.sound.rate,
                 "With --sequence FILE.wav: the sample rate in Hz that the model takes. A file of another rate is an "
                 "error, since nothing is resampled. Default: any")
      ->needs("--sequence")
      ->check(CLI::PositiveNumber);
  app.add_option("--reset-every", request.reset_every,
                 "Reset the state to its initial values after every N samples. Default: never. State is passed from "
                 "each sample to the next, with -i and --sequence")
      ->check(CLI::PositiveNumber);
  app.add_option("--state-in", request.state_in, "Begin with the state in DIR/<name>.npy instead of the initial values")
      ->check(path());
  app.add_option("--state-out", request.state_out, "Write the state after the run to DIR/<name>.npy")->check(path());
}

}  // namespace carina::cli
