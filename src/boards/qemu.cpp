#include "boards/qemu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
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
#include "execute/state_files.h"
#include "pte/reader.h"

namespace carina::boards {

namespace {

namespace fs = std::filesystem;

constexpr const char* kImageFile = "app.elf";

// Returns the NPU of the board: the requested one, or else that of the program.
Result<plan::Target> target_for(const pte::Program& program, const std::string& where,
                                const targets::TargetRequest& request, const Log& log) {
  CARINA_TRY(const targets::TargetNames names, targets::read_names(request));
  return names.accelerator.empty() ? backends::target_of_program(program, where, names, log)
                                   : targets::find_target(names, log);
}

// The files of the device. Its runner adds numbers and ".bin" to these names (firmware/runner/options.h).
constexpr const char* kInputPrefix = "in";
constexpr const char* kOutputPrefix = "out";
constexpr const char* kStateBefore = "before";
constexpr const char* kStateAfter = "after";

// What the device reads in one boot: the bytes of each input of each sample, and of each state tensor.
struct DeviceInput {
  std::vector<std::vector<Buffer>> samples;
  std::vector<Buffer> state = {};  // to begin with; empty: the initial values
};

// Writes the inputs to files that the device reads. Returns the image's arguments. One sample needs no number, so that
// an image of an older runner takes it.
Result<std::vector<std::string>> arguments_for(const DeviceInput& given, const QemuRequest& request,
                                               const TemporaryFolder& folder) {
  std::vector<std::string> arguments{"-o", kOutputPrefix, "-n", std::to_string(request.inferences)};
  const bool is_numbered = given.samples.size() > 1;
  for (size_t sample = 0; sample < given.samples.size(); ++sample) {
    for (size_t i = 0; i < given.samples[sample].size(); ++i) {
      const std::string name = fmt::format("{}{}", kInputPrefix, i);
      const std::string file = is_numbered ? fmt::format("{}-{}.bin", name, sample) : name;
      CARINA_CHECKED(write_file(folder.file(file), given.samples[sample][i].bytes()));
      if (sample == 0) arguments.insert(arguments.end(), {"-i", name});
    }
  }
  for (size_t i = 0; i < given.state.size(); ++i)
    CARINA_CHECKED(write_file(folder.file(fmt::format("{}-{}.bin", kStateBefore, i)), given.state[i].bytes()));
  if (is_numbered) arguments.insert(arguments.end(), {"-s", std::to_string(given.samples.size())});
  if (request.reset_every > 0) arguments.insert(arguments.end(), {"-r", std::to_string(request.reset_every)});
  if (!given.state.empty()) arguments.insert(arguments.end(), {"-b", kStateBefore});
  if (!request.state_out.empty()) arguments.insert(arguments.end(), {"-a", kStateAfter});
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

// Reads the files PREFIX-0SUFFIX.bin, PREFIX-1SUFFIX.bin ... An output that is a number has none.
Result<std::vector<Buffer>> read_results(const TemporaryFolder& folder, std::string_view prefix,
                                         std::string_view suffix, size_t count) {
  std::vector<Buffer> raw(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string path = folder.file(fmt::format("{}-{}{}.bin", prefix, i, suffix));
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    CARINA_TRY(raw[i], map_file(path));
  }
  return raw;
}

// What a boot gave.
struct DeviceOutput {
  std::vector<std::vector<datasets::NamedTensor>> samples;  // the outputs of each sample
  std::vector<datasets::NamedTensor> state = {};            // after the last one, if it was requested
};

// Boots an image, once for all samples, or once for each test case.
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
    CARINA_CHECKED(raw                                                                               ? run_raw()
                   : request_.inputs.empty() && request_.sequence.empty() && !request_.tests.empty() ? run_tests()
                                                                                                     : run_samples());
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

  Result<DeviceOutput> boot(const DeviceInput& given) {
    CARINA_TRY(const auto folder, TemporaryFolder::make("carina-qemu"));
    CARINA_CHECKED(write_file(folder->file(kImageFile), image_.bytes()));
    CARINA_TRY(std::vector<std::string> arguments, arguments_for(given, request_, *folder));
    CARINA_TRY(const auto ddr, SharedPages::make("carina-ddr", kQemuDdrBytes));
    NpuService npu(target_, {.bytes = ddr->bytes(), .device_address = kQemuDdrAddress}, request_.timing,
                   request_.threads, calls_.size());
    std::vector<std::string> console;
    const auto samples = static_cast<int64_t>(given.samples.size());
    const QemuRun run{
        .folder = folder->path(),
        .image = kImageFile,
        .memory = ddr.get(),
        .arguments = std::move(arguments),
        .timeout_seconds = static_cast<int>(std::min<int64_t>(INT_MAX, samples * request_.timeout_seconds)),
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
                  .inferences = samples * request_.inferences,
                  .clock_hz = target_.system.core_clock_hz});
    return results_of(samples, *folder);
  }

  [[nodiscard]] Result<DeviceOutput> results_of(int64_t samples, const TemporaryFolder& folder) const {
    DeviceOutput out;
    for (int64_t sample = 0; sample < samples; ++sample) {
      const std::string suffix = samples > 1 ? fmt::format("-{}", sample) : "";
      CARINA_TRY(const std::vector<Buffer> raw, read_results(folder, kOutputPrefix, suffix, runner_->outputs()));
      CARINA_TRY(out.samples.emplace_back(), runner_->outputs_of(raw));
    }
    if (request_.state_out.empty()) return out;
    CARINA_TRY(const std::vector<Buffer> raw, read_results(folder, kStateAfter, "", runner_->state_types().size()));
    CARINA_TRY(out.state, runner_->state_of(raw));
    return out;
  }

  void keep_profile(const DeviceRun& run) {
    if (records_.empty()) {
      report_.npu = npu_report_of(run, calls_);
      if (const auto note = results::conversion_note(where_, conversion_cycles_of(run)); note && calls_.size() > 0)
        log_.note(*note);
    }
    records_.push_back(record_of(run, runner_->method(), calls_));
  }

  Result<std::vector<Buffer>> state_to_begin_with() const {
    if (request_.state_in.empty()) return std::vector<Buffer>();
    CARINA_TRY(const std::vector<Tensor> tensors, execute::read_state(request_.state_in, runner_->state_types()));
    return runner_->raw_state(tensors);
  }

  Result<DeviceOutput> boot(std::span<const datasets::Sample> samples) {
    DeviceInput given;
    for (const datasets::Sample& sample : samples) {
      CARINA_TRY(given.samples.emplace_back(), runner_->raw_inputs(sample));
    }
    CARINA_TRY(given.state, state_to_begin_with());
    return boot(given);
  }

  // Passes raw files to the device unchanged. The device reports it if their sizes do not match.
  Result<void> run_raw() {
    DeviceInput given{.samples = {{}}};
    for (const std::string& path : request_.inputs) {
      CARINA_TRY(given.samples.front().emplace_back(), map_file(path));
    }
    CARINA_TRY(given.state, state_to_begin_with());
    CARINA_TRY(const DeviceOutput out, boot(given));
    CARINA_CHECKED(execute::write_state(request_.state_out, where_, out.state));
    CARINA_TRY(report_.outputs, datasets::report_tensors(out.samples.front(), request_.output_folder));
    return {};
  }

  Result<datasets::InputBatch> load_samples() const {
    const std::vector<datasets::InputType> types = runner_->inputs();
    if (!request_.sequence.empty())
      return datasets::load_sequence(request_.sequence, types, request_.images, request_.sound, log_);
    if (!request_.inputs.empty()) return datasets::load_batch(request_.inputs, types, request_.images, log_);
    return datasets::InputBatch{.samples = {execute::ones(types)}};
  }

  Result<void> run_samples() {
    CARINA_TRY(const datasets::InputBatch batch, load_samples());
    CARINA_TRY(const DeviceOutput out, boot(batch.samples));
    CARINA_CHECKED(execute::write_state(request_.state_out, where_, out.state));
    report_.samples = static_cast<int64_t>(batch.samples.size());
    CARINA_TRY(const std::vector<datasets::NamedTensor> all,
               datasets::joined_outputs(out.samples, batch.join, runner_->inputs(), where_));
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
        CARINA_TRY(const DeviceOutput out, boot(std::array{execute::sample_of(suite.cases[i])}));
        const std::vector<datasets::NamedTensor>& outputs = out.samples.front();
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
