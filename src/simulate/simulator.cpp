#include "simulate/simulator.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/machine_internal.h"

namespace carina::simulate {

struct Simulator::State : Persistent {};

Simulator::Simulator(Options options)
    : state_(new State{{.options = options,
                        .weights = {},
                        .statistics = StatisticsCache(options.known_streams),
                        .pool = ThreadPool(std::max(1, options.threads))}}) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

Result<Report> Simulator::run(std::span<const std::byte> payload, const Memory& memory) {
  CARINA_TRY(npu::Payload parsed, npu::parse_payload(payload, "driver payload"));
  const uint32_t config = state_->options.config_word.value_or(parsed.config_word);
  const npu::AcceleratorConfig* accelerator = npu::find_accelerator_of_word(config);
  if (accelerator == nullptr) {
    return fail(Diagnostic{.where = "driver payload",
                           .what = "no NPU has this CONFIG word",
                           .expected = "an Ethos-U55, U65 or U85",
                           .got = fmt::format("0x{:08x}", config)});
  }
  CARINA_CHECKED(npu::check_compatible(parsed, accelerator->config_word, accelerator->id_word, "driver payload"));
  return Machine(*state_, *accelerator, parsed, memory).run();
}

Result<Report> run(std::span<const std::byte> payload, const Memory& memory, const Options& options) {
  return Simulator(options).run(payload, memory);
}

}  // namespace carina::simulate
