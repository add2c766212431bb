#include "driver/delegate_target.h"

#include <fmt/format.h>

#include "driver/ethosu_specs.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"

namespace carina::driver {

namespace {

// The NPU that a delegate's stream is for: "" when Carina does not know it.
Result<std::string> accelerator_of(const pte::Delegate& delegate, const std::string& where) {
  CARINA_TRY(const npu::CompiledNetwork network, npu::read_delegate_blob(delegate.blob, where));
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, where));
  return payload.accelerator() == nullptr ? std::string() : std::string(payload.accelerator()->name);
}

}  // namespace

Result<std::optional<plan::Target>> target_of_delegate(const pte::Delegate& delegate, const TargetNames& asked,
                                                       const std::string& where, const Log& log) {
  const EthosUSpecs specs = read_specs(delegate.compile_specs);
  TargetNames names = asked;
  CARINA_TRY(names.accelerator, accelerator_of(delegate, where));
  if (names.accelerator.empty()) return std::nullopt;
  TargetNames wanted = names;
  if (wanted.system_config.empty()) wanted.system_config = specs.system_config;
  if (wanted.memory_mode.empty()) wanted.memory_mode = specs.memory_mode;
  if (auto found = find_target(wanted, log)) return *found;
  CARINA_TRY(const plan::Target fallback, find_target(names, log));
  log.note({.where = where,
            .what = fmt::format("was compiled for {}, {} of another vela.ini; estimates assume {}, {}",
                                wanted.system_config, wanted.memory_mode, fallback.system.name, fallback.memory.name),
            .hint = "--config FILE with those sections",
            .severity = Severity::kWarning});
  return fallback;
}

}  // namespace carina::driver
