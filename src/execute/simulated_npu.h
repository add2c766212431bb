#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/backends/ethos_u.h"
#include "simulate/simulator.h"

namespace carina::execute {

// The simulator as the driver of the NPU: EthosUBackend's invocations run on it. It keeps the report of each invocation
// and the reason of the last failure.
class SimulatedNpu final : public runtime::NpuDriver {
 public:
  explicit SimulatedNpu(simulate::Options options) : simulator_(std::move(options)) {}
  runtime::Error invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) override;

  [[nodiscard]] const std::vector<simulate::Report>& reports() const { return reports_; }
  void clear_reports() { reports_.clear(); }
  void clear_failure() { failure_.clear(); }
  [[nodiscard]] const Diagnostics& failure() const { return failure_; }

 private:
  simulate::Simulator simulator_;
  std::vector<simulate::Report> reports_;
  Diagnostics failure_;
};

}  // namespace carina::execute
