#include "boards/qemu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "backends/delegate_target.h"
#include "base/io/file.h"
#include "base/io/temporary_folder.h"
#include "base/system/served_program.h"
#include "base/system/shared_pages.h"
#include "boards/device_profile_internal.h"
#include "boards/firmware_image.h"
#include "boards/npu_service_internal.h"
#include "boards/qemu_process_internal.h"
#include "datasets/outputs.h"
#include "datasets/run_inputs.h"
#include "evaluate/program_runner.h"
#include "execute/run_program.h"
#include "execute/simulated_npu.h"
#include "pte/reader.h"

namespace carina::boards {

namespace {

namespace fs = std::filesystem;

constexpr const char* kImageFile = "app.elf";
constexpr const char* kOutputPrefix = "out";

// Returns the NPU of the board: the requested one, or else that of the program.
Result<plan::Target> target_for(const pte::Program& program, const std::string& where,
                                const targets::TargetRequest& request, const Log& log) {
  CARINA_TRY(const targets::TargetNames names, targets::read_names(request));
  return names.accelerator.empty() ? backends::target_of_program(program, where, names, log)
                                   : targets::find_target(names, log);
}

// Writes the inputs to files that the device reads. Returns the image's arguments.
Result<std::vector<std::string>> arguments_for(std::span<const Buffer> inputs, int inferences,
                                               const TemporaryFolder& folder) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("in{}", i);
    CARINA_CHECKED(write_file(folder.file(name), inputs[i].bytes()));
    arguments.insert(arguments.end(), {"-i", name});
  }
  arguments.insert(arguments.end(), {"-o", kOutputPrefix, "-n", std::to_string(inferences)});
  return arguments;
}

void serve_one(NpuService& service, int request_pipe, int reply_pipe) {
  firmware::NpuRequest request;
  if (!read_request(request_pipe, std::as_writable_bytes(std::span(&request, 1)))) request.magic = 0;
  const firmware::NpuReply reply = service.answer(request);
  write_reply(reply_pipe, std::as_bytes(std::span(&reply, 1)));
}

// Returns the error that the console reports.
std::unexpected<Diagnostics> device_failure(const std::string& where, const std::vector<std::string>& console,
                                            int status) {
  Diagnostics errors;
  for (const std::string& line : console) {
    constexpr std::string_view kError = "E [carina] ";
    if (line.starts_with(kError)) errors.push_back({.where = where, .what = line.substr(kError.size())});
  }
  if (errors.empty())
    errors.push_back({.where = where,
                      .what = fmt::format("the device ended with status {}", status),
                      .got = console.empty() ? "" : console.back()});
  return fail(std::move(errors));
}

Result<std::vector<datasets::NamedTensor>> read_outputs(const evaluate::ProgramRunner& runner,
                                                        const TemporaryFolder& folder) {
  std::vector<Buffer> raw;
  for (size_t i = 0; i < runner.outputs(); ++i) {
    const std::string path = folder.file(fmt::format("{}-{}.bin", kOutputPrefix, i));
    std::error_code error;
    raw.emplace_back();
    if (!fs::exists(path, error)) continue;
    CARINA_TRY(raw.back(), map_file(path));
  }
  return runner.outputs_of(raw);
}

// Boots an image once for each sample.
class Device {
 public:
  static Result<std::unique_ptr<Device>> make(const Buffer& image, const std::string& where, const QemuRequest& request,
                                              const Log& log) {
    std::unique_ptr<Device> device(new Device(image, where, request, log));
    CARINA_TRY(const Buffer program, model_of(image, where));
    CARINA_TRY(const pte::Program parsed, pte::read_program(program, where));
    CARINA_TRY(device->target_, target_for(parsed, where, request.target, log));
    const std::array<runtime::Backend*, 1> backends{&device->backend_};
    CARINA_TRY(device->runner_, evaluate::ProgramRunner::load(program, where, backends));
    device->calls_ = execute::NpuCalls(parsed, device->runner_->method_name(), device->target_);
    return device;
  }

  Result<results::QemuReport> run() {
    const bool raw =
        std::ranges::any_of(request_.inputs, [](const std::string& path) { return path.ends_with(".bin"); });
    CARINA_CHECKED(raw ? run_raw() : request_.inputs.empty() && !request_.tests.empty() ? run_tests() : run_samples());
    if (!request_.etdump.empty()) CARINA_CHECKED(write_file(request_.etdump, pte::write_etdump(records_).record));
    return std::move(report_);
  }

 private:
  Device(const Buffer& image, const std::string& where, const QemuRequest& request, const Log& log)
      : image_(image),
        where_(where),
        request_(request),
        log_(log),
        report_{.image = where, .console = {}, .outputs = {}} {}

  Result<std::vector<datasets::NamedTensor>> boot(std::span<const Buffer> inputs) {
    CARINA_TRY(const auto folder, TemporaryFolder::make("carina-qemu"));
    CARINA_CHECKED(write_file(folder->file(kImageFile), image_.bytes()));
    CARINA_TRY(std::vector<std::string> arguments, arguments_for(inputs, request_.inferences, *folder));
    CARINA_TRY(const auto ddr, SharedPages::make("carina-ddr", kQemuDdrBytes));
    NpuService npu(target_, {.bytes = ddr->bytes(), .device_address = kQemuDdrAddress}, request_.timing,
                   request_.threads, calls_.size());
    std::vector<std::string> console;
    const QemuRun run{.folder = folder->path(),
                      .image = kImageFile,
                      .memory = ddr.get(),
                      .arguments = std::move(arguments),
                      .timeout_seconds = request_.timeout_seconds,
                      .on_line =
                          [&](std::string_view line) {
                            console.emplace_back(line);
                            request_.on_line(line);
                          },
                      .on_request = [&](int asked, int reply) { serve_one(npu, asked, reply); }};
    CARINA_TRY(const int status, run_qemu(run));
    if (status != 0) return device_failure(where_, console, status);
    report_.console.insert(report_.console.end(), console.begin(), console.end());
    keep_profile({.console = console,
                  .npu = npu.reports(),
                  .inferences = request_.inferences,
                  .clock_hz = target_.system.core_clock_hz});
    return read_outputs(*runner_, *folder);
  }

  void keep_profile(const DeviceRun& run) {
    if (records_.empty()) {
      report_.npu = npu_report_of(run, calls_);
      if (const auto note = results::conversion_note(where_, conversion_cycles_of(run)); note && calls_.size() > 0)
        log_.note(*note);
    }
    records_.push_back(record_of(run, runner_->method(), calls_));
  }

  Result<std::vector<datasets::NamedTensor>> boot(const datasets::Sample& sample) {
    CARINA_TRY(const std::vector<Buffer> inputs, runner_->raw_inputs(sample));
    return boot(inputs);
  }

  // Passes raw files to the device unchanged. The device reports it if their sizes do not match.
  Result<void> run_raw() {
    std::vector<Buffer> inputs;
    for (const std::string& path : request_.inputs) {
      CARINA_TRY(inputs.emplace_back(), map_file(path));
    }
    CARINA_TRY(const std::vector<datasets::NamedTensor> outputs, boot(inputs));
    CARINA_TRY(report_.outputs, datasets::report_tensors(outputs, request_.output_folder));
    return {};
  }

  Result<void> run_samples() {
    const std::vector<datasets::InputType> types = runner_->inputs();
    datasets::InputBatch batch{.samples = {execute::ones(types)}};
    if (!request_.inputs.empty()) {
      CARINA_TRY(batch, datasets::load_batch(request_.inputs, types, request_.images, log_));
    }
    if (batch.samples.size() > 1)
      log_.note(
          {.where = where_,
           .what = fmt::format(
               "the device boots once for each of the {} samples: state does not pass from one sample to the next",
               batch.samples.size()),
           .severity = Severity::kNote});
    std::vector<std::vector<datasets::NamedTensor>> outputs;
    for (const datasets::Sample& sample : batch.samples) {
      CARINA_TRY(std::vector<datasets::NamedTensor> one, boot(sample));
      outputs.push_back(std::move(one));
    }
    report_.samples = static_cast<int64_t>(batch.samples.size());
    CARINA_TRY(const std::vector<datasets::NamedTensor> all,
               datasets::joined_outputs(outputs, batch.join, types, where_));
    CARINA_TRY(report_.outputs, datasets::report_tensors(all, request_.output_folder));
    return {};
  }

  Result<void> run_tests() {
    results::TestsReport tests{.relative_tolerance = request_.tolerance.relative,
                               .absolute_tolerance = request_.tolerance.absolute,
                               .cases = {}};
    for (const pte::TestSuite& suite : request_.tests) {
      if (suite.method != runner_->method_name()) continue;
      for (size_t i = 0; i < suite.cases.size(); ++i) {
        CARINA_TRY(const std::vector<datasets::NamedTensor> outputs, boot(execute::sample_of(suite.cases[i])));
        results::TestCaseReport& test =
            tests.cases.emplace_back(execute::check_case(suite.cases[i], outputs, request_.tolerance));
        test.method = suite.method;
        test.index = static_cast<int64_t>(i);
        records_.back().test_case = static_cast<int32_t>(i);
        CARINA_CHECKED(write_outputs(test, outputs));
      }
    }
    if (tests.cases.empty())
      return fail({.where = where_,
                   .what = "the bundled program has no test case for this method",
                   .expected = std::string(runner_->method_name())});
    report_.samples = static_cast<int64_t>(tests.cases.size());
    report_.tests = std::move(tests);
    return {};
  }

  [[nodiscard]] Result<void> write_outputs(const results::TestCaseReport& test,
                                           std::span<const datasets::NamedTensor> outputs) const {
    if (request_.output_folder.empty()) return {};
    CARINA_TRY(const auto written,
               datasets::report_tensors({outputs.begin(), outputs.end()},
                                        fmt::format("{}/{}_{}", request_.output_folder, test.method, test.index)));
    static_cast<void>(written);
    return {};
  }

  const Buffer& image_;
  const std::string& where_;
  const QemuRequest& request_;
  const Log& log_;
  results::QemuReport report_;
  execute::SimulatedNpu unused_{simulate::Options{}};  // the host's runner provides the types; it does not run
  runtime::EthosUBackend backend_{unused_};
  plan::Target target_;
  std::unique_ptr<evaluate::ProgramRunner> runner_;
  execute::NpuCalls calls_;
  std::vector<pte::RunRecord> records_;  // one per boot
};

}  // namespace

Result<results::QemuReport> run_on_qemu(const Buffer& image, const std::string& where, const QemuRequest& request,
                                        const Log& log) {
  CARINA_TRY(const std::unique_ptr<Device> device, Device::make(image, where, request, log));
  return device->run();
}

Result<results::QemuReport> run_on_qemu(const std::string& image, const QemuRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(image));
  return run_on_qemu(file, image, request, log);
}

}  // namespace carina::boards
