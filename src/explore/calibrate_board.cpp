#include "explore/calibrate_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/io/file.h"
#include "base/text/number.h"
#include "estimate/estimate.h"
#include "files/command_files.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"
#include "targets/target.h"

namespace carina::explore {
namespace {

struct Sample {
  std::string stream;  // as the CSV names it
  std::string path;
  npu::CompiledNetwork network;
  double milliseconds = 0;  // 0: cycles were measured
  double cycles = 0;
};

// The cells of a line of CSV (RFC 4180), without blanks around them. A cell in quotes may have commas, and "" for a
// quote.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      if (quoted && !parts.back().empty()) parts.back() += c;  // the second of two quotes
    } else if (c == ',' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  constexpr std::string_view kBlanks = " \t\r";
  for (std::string& part : parts) {
    part.erase(part.find_last_not_of(kBlanks) + 1);
    part.erase(0, std::min(part.find_first_not_of(kBlanks), part.size()));
  }
  return parts;
}

std::unexpected<Diagnostics> bad_row(const std::string& file, size_t line, std::string what, const std::string& got) {
  return fail({.where = fmt::format("{}:{}", file, line),
               .what = std::move(what),
               .expected = "columns \"stream\" and \"cycles\" or \"milliseconds\"",
               .got = got});
}

Result<npu::CompiledNetwork> read_network(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  return npu::read_vela_raw(file, path);
}

// Paths of streams are relative to the CSV.
Result<std::vector<Sample>> read_samples(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  std::vector<Sample> samples;
  std::optional<std::vector<std::string>> head;
  size_t line_number = 0, begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto row = cells(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++line_number;
    if (row.size() == 1 && row[0].empty()) continue;
    if (!head) {
      head = row;
      const bool known = row.size() == 2 && row[0] == "stream" && (row[1] == "cycles" || row[1] == "milliseconds");
      if (!known) return bad_row(path, line_number, "unknown columns", text.substr(0, end));
      continue;
    }
    const double value = row.size() == 2 ? number_in<double>(row[1]).value_or(0) : 0;
    if (!std::isfinite(value) || value <= 0)
      return bad_row(path, line_number, "a row without a positive number", row.back());
    std::string stream = (std::filesystem::path(path).parent_path() / row[0]).string();
    CARINA_TRY(npu::CompiledNetwork network, read_network(stream));
    const bool is_time = (*head)[1] == "milliseconds";
    samples.push_back({.stream = row[0],
                       .path = std::move(stream),
                       .network = std::move(network),
                       .milliseconds = is_time ? value : 0,
                       .cycles = is_time ? 0 : value});
  }
  if (samples.empty()) return bad_row(path, line_number, "no measurements", "none");
  return samples;
}

// Checks that the new ini does not replace a stream that the CSV names.
Result<void> check_output(const CalibrateBoardRequest& request, const std::vector<Sample>& samples) {
  files::CommandFiles files{.inputs = {}, .outputs = {{"--output", request.output}}, .folders = {}};
  for (const Sample& sample : samples) files.inputs.push_back(sample.path);
  return files::check_files(files);
}

Result<plan::Target> target_of(const CalibrateBoardRequest& request, const std::vector<Sample>& samples,
                               const Log& log) {
  std::string accelerator;
  for (const Sample& sample : samples) {
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(sample.network.command_payload, sample.stream));
    const std::string name(payload.accelerator() == nullptr ? "unknown" : payload.accelerator()->name);
    if (payload.accelerator() == nullptr || (!accelerator.empty() && name != accelerator))
      return fail({.where = sample.stream,
                   .what = "the streams of a board are for one NPU",
                   .expected = accelerator.empty() ? "a known NPU" : accelerator,
                   .got = name});
    accelerator = name;
  }
  return targets::find_target({.accelerator = accelerator,
                               .system_config = request.system_config,
                               .memory_mode = request.memory_mode,
                               .config_files = request.config_files},
                              log);
}

// The parameters of the fit, as factors of their start values.
constexpr size_t kParameters = 3;
using Factors = std::array<double, kParameters>;  // bandwidth and latency of the second memory, latency of SRAM

npu::SystemConfig scaled(npu::SystemConfig system, const Factors& factors) {
  const auto latency = [](int cycles, double factor) { return static_cast<int>(std::lround(cycles * factor)); };
  npu::MemoryPort& sram = system.ports[0];
  npu::MemoryPort& second = system.ports[1];
  second.clock_scale *= factors[0];
  second.read_latency_cycles = latency(std::max(second.read_latency_cycles, 1), factors[1]);
  sram.read_latency_cycles = latency(std::max(sram.read_latency_cycles, 1), factors[2]);
  sram.write_latency_cycles = latency(std::max(sram.write_latency_cycles, 1), factors[2]);
  return system;
}

class Fit {
 public:
  Fit(const std::vector<Sample>& samples, plan::Target start) : samples_(samples), start_(std::move(start)) {}

  // The cycles of each network.
  [[nodiscard]] Result<std::vector<double>> cycles(const Factors& factors) const {
    plan::Target target = start_;
    target.system = scaled(start_.system, factors);
    std::vector<double> all;
    for (const Sample& sample : samples_) {
      CARINA_TRY(const auto report, estimate::time_network(sample.network, target));
      all.push_back(static_cast<double>(report.cycles.total));
    }
    return all;
  }

  [[nodiscard]] double measured(const Sample& sample) const {
    return sample.milliseconds > 0 ? sample.milliseconds * 1e-3 * start_.system.core_clock_hz : sample.cycles;
  }

  // The sum of squared logarithms of estimate / measurement. Weak terms keep values that the networks do not determine
  // near their start. Those of latencies are stronger: a few cycles of latency per operation can explain any small
  // network, and would then predict other networks badly. Twice a latency costs as much as an error of 4 %.
  [[nodiscard]] Result<double> error(const Factors& factors) const {
    CARINA_TRY(const std::vector<double> estimated, cycles(factors));
    constexpr Factors kWeights{1e-4, 3e-3, 3e-3};
    double sum = 0;
    for (size_t p = 0; p < factors.size(); ++p) sum += kWeights[p] * std::pow(std::log(factors[p]), 2);
    for (size_t i = 0; i < samples_.size(); ++i) sum += std::pow(std::log(estimated[i] / measured(samples_[i])), 2);
    return sum;
  }

  // Changes one parameter at a time, by smaller and smaller factors, while that reduces the error.
  [[nodiscard]] Result<Factors> best() const {
    Factors factors{1, 1, 1};
    CARINA_TRY(double least, error(factors));
    const size_t free = std::min(samples_.size(), kParameters);
    constexpr int kSteps = 10;
    double step = 2;
    for (int i = 0; i < kSteps; step = i < 2 ? step : std::sqrt(step), ++i) {
      for (size_t p = 0; p < free; ++p) {
        for (const double factor : {step, 1 / step}) {
          CARINA_TRY(const bool better, try_factor(factors, p, factor, least));
          if (better) break;
        }
      }
    }
    return factors;
  }

 private:
  // Multiplies a parameter by `factor` as long as that reduces the error.
  [[nodiscard]] Result<bool> try_factor(Factors& factors, size_t parameter, double factor, double& least) const {
    constexpr double kFarthest = 64;
    bool better = false;
    while (true) {
      Factors tried = factors;
      tried[parameter] *= factor;
      if (tried[parameter] > kFarthest || tried[parameter] < 1 / kFarthest) return better;
      CARINA_TRY(const double error_there, error(tried));
      if (error_there >= least) return better;
      least = error_there;
      factors = tried;
      better = true;
    }
  }

  const std::vector<Sample>& samples_;
  plan::Target start_;
};

std::string ini_text(const results::BoardCalibration& fitted, const npu::SystemConfig& system) {
  std::string text = fmt::format("; fitted by `carina calibrate-board`, starting with {}\n", fitted.start);
  for (const results::BoardMeasurement& row : fitted.measurements)
    text += fmt::format("; {}: measured {:.0f} cycles, estimated {:.0f} ({:+.1f} %)\n", row.stream, row.measured_cycles,
                        row.fitted_cycles, 100 * (row.fitted_cycles / row.measured_cycles - 1));
  text += fmt::format("[System_Config.{}]\ncore_clock={:.0f}\n", fitted.name, system.core_clock_hz);
  for (size_t i = 0; i < system.ports.size(); ++i)
    text += fmt::format("axi{}_port={}\n", i, npu::name_of(system.ports[i].kind));
  for (const npu::MemoryPort& port : system.ports) {
    const auto name = npu::name_of(port.kind);
    text += fmt::format("{0}_clock_scale={1:.6g}\n{0}_ports_used={2}\n{0}_burst_length={3}\n", name, port.clock_scale,
                        port.ports_used, port.burst_bytes);
    text += fmt::format("{0}_read_latency={1}\n{0}_write_latency={2}\n{0}_max_reads={3}\n{0}_max_writes={4}\n", name,
                        port.read_latency_cycles, port.write_latency_cycles, port.max_reads, port.max_writes);
  }
  return text;
}

}  // namespace

Result<results::BoardCalibration> calibrate_board(const CalibrateBoardRequest& request, const Log& log) {
  CARINA_TRY(const std::vector<Sample> samples, read_samples(request.measurements));
  CARINA_CHECKED(check_output(request, samples));
  CARINA_TRY(const plan::Target start, target_of(request, samples, log));
  const Fit fit(samples, start);
  CARINA_TRY(const std::vector<double> before, fit.cycles({1, 1, 1}));
  CARINA_TRY(const Factors factors, fit.best());
  CARINA_TRY(const std::vector<double> after, fit.cycles(factors));
  const npu::SystemConfig system = scaled(start.system, factors);
  results::BoardCalibration fitted{.name = request.name,
                                   .start = std::string(start.system.name),
                                   .output = request.output,
                                   .second_memory_clock_scale = system.ports[1].clock_scale,
                                   .second_memory_read_latency_cycles = system.ports[1].read_latency_cycles,
                                   .sram_latency_cycles = system.ports[0].read_latency_cycles,
                                   .measurements = {}};
  for (size_t i = 0; i < samples.size(); ++i) {
    const double measured = fit.measured(samples[i]);
    fitted.measurements.push_back({.stream = samples[i].stream,
                                   .measured_cycles = measured,
                                   .before_cycles = before[i],
                                   .fitted_cycles = after[i]});
    fitted.worst_residual = std::max(fitted.worst_residual, std::abs(after[i] / measured - 1));
  }
  const std::string text = ini_text(fitted, system);
  CARINA_CHECKED(write_file(request.output, std::string_view(text)));
  return fitted;
}

}  // namespace carina::explore
