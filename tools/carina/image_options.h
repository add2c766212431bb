#pragma once

#include <CLI/CLI.hpp>

#include "datasets/images/decode_image.h"
#include "datasets/run_inputs.h"

namespace carina::cli {

// Adds --mean and --std, for commands whose inputs may be images.
inline void add_image_options(CLI::App& app, datasets::ImageOptions& images) {
  images.decoder = datasets::decode_image;
  app.add_option("--mean", images.mean,
                 "Mean for images: a channel value v becomes (v / 255 - mean) / std. One number, or one per channel: "
                 "0.485,0.456,0.406. Default: 0")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--std", images.std, "Standard deviation for images, see --mean. Default: 1")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
}

}  // namespace carina::cli
