#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "boards/firmware.h"
#include "boards/qemu.h"
#include "command.h"
#include "option_values.h"
#include "run_options.h"

namespace carina::cli {

// Adds the options for the sizes of the image's pools.
inline void add_pool_options(CLI::App& app, boards::FirmwarePools& pools) {
  app.add_option("--method-pool", pools.method_bytes,
                 "Size of the method pool (the program's tables, planned buffers, inputs). Default: half of the "
                 "image's pool memory, or what the temp pool leaves if the program needs another division")
      ->transform(byte_size());
  app.add_option(
         "--temp-pool", pools.temp_bytes,
         "Size of the temp pool (scratch memory of kernels and delegates). Default: the rest of the pool memory")
      ->transform(byte_size());
  app.add_option("--fast-pool", pools.fast_bytes,
                 "Size of the NPU's fast memory (region 2). Default: the size for which the program was compiled")
      ->transform(byte_size());
}

// Runs an image and prints the lines of its console as they arrive. With --json they are in the final object instead.
// `layers`: the file for the table of --per-layer; empty: none.
inline int run_on_device(const Result<Buffer>& image, const std::string& where, boards::QemuRequest request,
                         const Console& console, const std::string& layers = {},
                         report::LayerRows rows = report::LayerRows::kFolded) {
  if (!image) return report_failure(where, image.error(), console);
  request.threads = console.threads;
  if (!console.json)
    request.on_line = [](std::string_view line) { static_cast<void>(print(std::string(line) + "\n")); };
  Result<results::QemuReport> report = boards::run_on_qemu(*image, where, request, console.log());
  if (report) {
    if (auto written = write_layers(layers, report->npu, rows); !written)
      report = std::unexpected(std::move(written).error());
  }
  const int printed = finish(where, shown(report, console), console);
  return report && report->tests && !report->tests->passed() ? 1 : printed;
}

}  // namespace carina::cli
