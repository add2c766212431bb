#include "execute/run.h"

#include <algorithm>
#include <iterator>

#include "command.h"
#include "device_options.h"
#include "files/command_files.h"
#include "image_options.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"
#include "report/render.h"
#include "run_options.h"
#include "state_options.h"

// `carina run`: executes a .pte on the host with simulated NPU, as firmware in QEMU, or on a Vulkan device.
namespace carina::cli {
namespace run_command {
namespace {

enum class Device { kHost, kQemu, kVulkan };

// Files that are written in addition to the outputs. Empty: not requested.
struct Tables {
  std::string layers;
  report::LayerRows rows = report::LayerRows::kFolded;
  std::string page;
};

Result<void> check(const execute::RunRequest& request, const Tables& tables = {}) {
  files::CommandFiles files{.inputs = request.inputs.empty() ? request.sequence : request.inputs,
                            .outputs = {{"--per-layer", tables.layers},
                                        {"--report", tables.page},
                                        {"--etdump", request.etdump},
                                        {"--debug-buffer", request.debug_buffer},
                                        {"--bundle", request.bundle}},
                            .folders = {{"--output", request.output_folder, "output_"}}};
  files.inputs.push_back(request.program);
  std::ranges::copy(request.config_files, std::back_inserter(files.inputs));
  files.inputs.insert(files.inputs.end(), request.data.begin(), request.data.end());
  return files::check_files(files);
}

Result<results::RunReport> run_and_write(const execute::RunRequest& request, const Tables& tables,
                                         const Console& console) {
  CARINA_CHECKED(check(request, tables));
  CARINA_TRY(results::RunReport report, execute::run(request, console.log()));
  CARINA_CHECKED(write_layers(tables.layers, report.npu, tables.rows));
  CARINA_CHECKED(write_page(tables.page, report));
  return report;
}

// Failed test cases are shown like passed ones. The exit code tells them apart.
int run(const execute::RunRequest& request, const Tables& tables, const Console& console) {
  const Result<results::RunReport> report = run_and_write(request, tables, console);
  const int printed = finish(request.program, shown_run(report, tables.rows, console), console);
  const bool failed = report && report->tests && !report->tests->passed();
  return failed ? 1 : printed;
}

Result<Buffer> image_of(const execute::RunRequest& request, const Tables& tables, const Console& console) {
  CARINA_CHECKED(check(request, tables));
  if (request.timed)
    console.log().note({.where = "--timed",
                        .what = "--timed has no effect with --on qemu: the log shows the total cycles",
                        .severity = Severity::kNote});
  if (!request.data.empty())
    return fail({.where = "--data",
                 .what = "--data is not possible with --on qemu: the firmware cannot load tensors from a .ptd",
                 .fault = Fault::kUsage});
  if (!request.method.empty() || !request.debug_buffer.empty() || !request.bundle.empty() || !tables.page.empty())
    return fail({.where = "--on qemu",
                 .what = "--method, --debug-buffer, --bundle and --report are not possible with --on qemu",
                 .hint = "run it on the host for --method, --debug-buffer, --bundle and --report",
                 .fault = Fault::kUsage});
  if (!request.schedule.empty() || request.generate.count > 0)
    return fail({.where = "--on qemu",
                 .what = "--schedule and --generate are not possible with --on qemu: the firmware runs one method",
                 .hint = "run it on the host",
                 .fault = Fault::kUsage});
  CARINA_TRY(const boards::Firmware firmware,
             boards::make_firmware({.program = request.program,
                                    .pools = {.method_bytes = static_cast<uint32_t>(request.pools.method_bytes),
                                              .temp_bytes = static_cast<uint32_t>(request.pools.temp_bytes)}},
                                   console.log()));
  return Buffer::copy_of(firmware.elf);
}

int run_as_firmware(const execute::RunRequest& request, const Tables& tables, const Console& console) {
  const Result<std::vector<pte::TestSuite>> tests = execute::test_suites_of(request.program);
  if (!tests) return report_failure(request.program, tests.error(), console);
  return run_on_device(image_of(request, tables, console), request.program,
                       {.inputs = request.inputs,
                        .images = request.images,
                        .sequence = request.sequence,
                        .sound = request.sound,
                        .reset_every = request.reset_every,
                        .state_in = request.state_in,
                        .state_out = request.state_out,
                        .tests = *tests,
                        .tolerance = request.tolerance,
                        .output_folder = request.output_folder,
                        .target = {.accelerator = {},
                                   .system_config = request.system_config,
                                   .memory_mode = request.memory_mode,
                                   .config_files = request.config_files},
                        .etdump = request.etdump},
                       console, tables.layers, tables.rows);
}

void add_bundle_options(CLI::App& app, execute::RunRequest& request) {
  app.add_option("--rtol", request.tolerance.relative,
                 "Relative tolerance of floats in test cases. Default: 1e-5, as in ExecuTorch")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--atol", request.tolerance.absolute,
                 "Absolute tolerance of floats in test cases. Default: 1e-8, as in ExecuTorch")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--bundle", request.bundle,
                 "Write a .bpte: the program with the inputs of this run, and its outputs as expected outputs")
      ->check(path());
}

void add_pool_options(CLI::App& app, evaluate::MemoryPools& pools) {
  app.add_option(
         "--method-pool", pools.method_bytes,
         "Size of the method pool, as on a device (planned buffers and the program's tables). Default: no limit")
      ->transform(byte_size());
  app.add_option("--temp-pool", pools.temp_bytes,
                 "Size of the temp pool, as on a device (scratch memory of kernels and delegates). Default: no limit")
      ->transform(byte_size());
}

void add_generate_options(CLI::App& app, execute::GenerateOptions& generate) {
  CLI::Option* count =
      app.add_option("--generate", generate.count,
                     "Generate N tokens with a language model that keeps its cache: output_0.npy has their ids. The "
                     "methods take token ids\nand their positions, and give logits")
          ->excludes("--input", "--sequence", "--schedule")
          ->check(CLI::PositiveNumber);
  app.add_option("--tokens", generate.prompt, "With --generate: the ids of the prompt, 1,461,461")
      ->delimiter(',')
      ->needs(count);
  app.add_option("--top-k", generate.top_k,
                 "With --generate: draw each token from the K most likely ones. Default: 1, the most likely one")
      ->needs(count)
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", generate.seed, "With --generate: the seed of the draws. Default: 0")->needs(count);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static execute::RunRequest request;
  app.add_option("program", request.program,
                 "A .pte, a .bpte whose test cases are run and compared, or a .tflite, which is interpreted")
      ->required()
      ->transform(input_path());
  app.add_option(
         "-i,--input", request.inputs,
         "One per input, in order or as NAME=FILE: an .npy, an image (.png, .jpg), a .csv, a .bin, a folder of such "
         "files, or numbers\n"
         "(0.5; 1,2,3). Or one .npz for all inputs. A file may hold many samples. Default: ones, as in "
         "ExecuTorch's runner")
      ->allow_extra_args(false)
      ->transform(input_path());
  add_state_options(app, request);
  app.add_option("--schedule", request.schedule,
                 "Run the methods of the program in the order of this JSON file: [{\"method\": \"decode\", \"inputs\": "
                 "[[[7]], [2]]}, ...].\nState passes from each step to the next. Output k of step n is written to "
                 "DIR/step<n>_<k>.npy")
      ->excludes("--input", "--sequence")
      ->check(path());
  add_generate_options(app, request.generate);
  app.add_option("--data", request.data,
                 "A .ptd with external tensors of the program. Default: the .ptd beside the program, if there is one")
      ->check(path());
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy")->check(path());
  add_image_options(app, request.images);
  add_pool_options(app, request.pools);
  app.add_option("--method", request.method,
                 "Method to run. Default: forward, or the first method if there is no forward");
  add_bundle_options(app, request);
  app.add_option("--etdump", request.etdump,
                 "Write an ETDump with the times of kernels and delegates, for ExecuTorch's Inspector. With --timed "
                 "the times of delegates are NPU cycles")
      ->check(path());
  app.add_option("--debug-buffer", request.debug_buffer,
                 "Write the outputs of each kernel and delegate to this file, for the record of --etdump. Uses the "
                 "portable kernels")
      ->check(path());
  app.add_flag("--timed", request.timed, "Also estimate cycles: per layer and in total");
  static Tables tables;
  add_all_option(app, tables.rows);
  add_layers_option(app, tables.layers);
  add_page_option(app, tables.page);
  add_memory_options(app, request.system_config, request.memory_mode, request.config_files);
  static auto device = Device::kHost;
  app.add_option("--on", device,
                 "Device: host; qemu (firmware on an emulated Cortex-M55, with its log; see carina qemu); or vulkan "
                 "(VGF\ndelegates on a device with the ML extensions for Vulkan)")
      ->transform(one_of({{"host", static_cast<int>(Device::kHost)},
                          {"qemu", static_cast<int>(Device::kQemu)},
                          {"vulkan", static_cast<int>(Device::kVulkan)}}));
  app.add_flag("--portable-kernels", request.portable_kernels,
               "Use the kernels of the firmware instead of the faster host kernels, for the same bits as on a device");
  app.callback([&] {
    action = [&] {
      if (device == Device::kQemu) return run_as_firmware(request, tables, console);
      request.threads = console.threads;
      if (device == Device::kVulkan) request.vgf = execute::VgfDevice::kVulkan;
      request.timed = request.timed || !tables.layers.empty() || !tables.page.empty();
      return run(request, tables, console);
    };
  });
}

}  // namespace
}  // namespace run_command

const Command kRun{.name = "run",
                   .summary = "Run an ExecuTorch program: kernels on the CPU, delegates on the simulated NPU",
                   .examples =
                       "  carina run model.pte -i input.npy -o outputs\n"
                       "  carina run model.pte --timed\n"
                       "  carina run model.pte -i photos --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 -o outputs\n"
                       "  carina run streaming.pte --sequence frames.npy --state-out after -o outputs\n"
                       "  carina run denoise.pte --sequence noisy.wav --sample-rate 16000 -o outputs\n"
                       "  carina run model.bpte --rtol 0.01 --atol 0.01\n"
                       "  carina run model.pte --timed --etdump model.etdp\n"
                       "  carina run model.pte --on qemu -i input.npy",
                   .add_options = run_command::add_options};

}  // namespace carina::cli
