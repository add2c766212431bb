#include "backends/backend.h"

#include <fmt/format.h>

#include <array>

#include "backends/ethosu_backend.h"
#include "backends/tosa_backend_internal.h"
#include "backends/vgf_backend_internal.h"
#include "base/text/nearest.h"
#include "npu/table_names.h"

namespace carina::backends {

namespace {

// A kind of accelerator: its targets, and the function that makes a backend for a target.
struct BackendKind {
  std::string_view name;
  std::vector<std::string_view> (*targets)();
  Result<Backend> (*make)(const targets::TargetNames& names, const Log& log);
};

Result<Backend> make_ethosu(const targets::TargetNames& names, const Log& log) {
  CARINA_TRY(const plan::Target target, targets::find_target(names, log));
  return ethosu_backend(target);
}

Result<Backend> make_vgf(const targets::TargetNames& names, const Log& log) {
  const bool has_memories = !names.system_config.empty() || !names.memory_mode.empty() || !names.ini.empty() ||
                            names.arena_cache_bytes.has_value();
  if (has_memories)
    log.note({.where = std::string(names.accelerator),
              .what = "system configuration, memory mode and cache size have no effect for this target: "
                      "the driver of the device decides",
              .severity = Severity::kWarning});
  return vgf_backend();
}

constexpr auto kKinds = std::to_array<BackendKind>({{.name = "ethos-u", .targets = ethosu_targets, .make = make_ethosu},
                                                    {.name = "vgf", .targets = vgf_targets, .make = make_vgf}});

bool compiles_for(const BackendKind& kind, std::string_view target) {
  return std::ranges::any_of(kind.targets(), [&](std::string_view known) { return npu::same_name(known, target); });
}

}  // namespace

std::vector<uint8_t> spec_bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

std::vector<std::string_view> targets() {
  std::vector<std::string_view> all;
  for (const BackendKind& kind : kKinds) std::ranges::copy(kind.targets(), std::back_inserter(all));
  return all;
}

Result<Backend> find_backend(const targets::TargetNames& names, const Log& log) {
  if (is_tosa_spec(names.accelerator)) return tosa_backend(names.accelerator);
  for (const BackendKind& kind : kKinds) {
    if (compiles_for(kind, names.accelerator)) return kind.make(names, log);
  }
  const std::vector<std::string_view> known = targets();
  return fail({.where = "target",
               .what = "unknown target",
               .expected = fmt::format("{}", fmt::join(known, ", ")),
               .got = names.accelerator,
               .hint = npu::find_accelerator(npu::row_name(npu::kAccelerators, names.accelerator)) == nullptr
                           ? nearest_hint(names.accelerator, {known.begin(), known.end()})
                           : "streams that Vela made for it run on the simulator: `carina npu run`",
               .fault = Fault::kUsage});
}

Result<Backend> find_backend(const targets::TargetRequest& request, const Log& log) {
  CARINA_TRY(const targets::TargetNames names, targets::read_names(request));
  return find_backend(names, log);
}

}  // namespace carina::backends
