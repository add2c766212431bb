#include "base/file.h"
#include "command.h"
#include "driver/compile.h"
#include "model_options.h"

namespace carina::cli {

namespace {

int to_tosa(driver::CompileRequest request, const std::string& output, const Console& console) {
  request.threads = console.threads;
  const auto bytes = driver::to_tosa(request, console.log());
  if (!bytes) return report_errors(bytes.error());
  const auto written = write_file(output, *bytes);
  return written ? 0 : report_errors(written.error());
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  static std::string output;
  add_model_options(app, request);
  app.add_option("-o,--output", output, "The .tosa to write")->required();
  app.callback([&] { action = [&] { return to_tosa(request, output, console); }; });
}

}  // namespace

const Command kTosa{.name = "tosa",
                    .summary = "Lower a model to a TOSA 1.0 file: INT where it is quantized, else FP",
                    .examples =
                        "  carina tosa model.pt2 -o model.tosa\n"
                        "  carina tosa model.pt2 --calibrate inputs.npz -o model_int8.tosa",
                    .add_options = add_options};

}  // namespace carina::cli
