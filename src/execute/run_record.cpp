#include "execute/run_record.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "report/tables/layers.h"

namespace carina::execute {

namespace {

constexpr const char* kOperatorCall = "OPERATOR_CALL";
constexpr const char* kDelegateCall = "DELEGATE_CALL";
constexpr const char* kMethodExecute = "Method::execute";

uint64_t ns_of(int64_t cycles, int64_t clock_hz) {
  return clock_hz == 0 ? 0 : static_cast<uint64_t>(1e9 * static_cast<double>(cycles) / static_cast<double>(clock_hz));
}

// The event name of a kernel, as in ExecuTorch's generated calls: "aten::add.out" -> "native_call_add.out".
std::string kernel_event(std::string_view kernel) {
  const size_t colons = kernel.find("::");
  return fmt::format("native_call_{}", colons == std::string_view::npos ? kernel : kernel.substr(colons + 2));
}

// Adds the layers of an NPU call that began at `start_ns`. Returns the end of the call.
uint64_t add_layers(const results::NpuReport& npu, int32_t instruction, uint64_t start_ns, pte::RunRecord& record) {
  for (const results::LayerReport& layer : report::rows_of(npu, report::LayerRows::kFolded)) {
    const uint64_t start = start_ns + ns_of(layer.start_cycle, npu.clock_hz);
    record.events.push_back({.instruction = instruction,
                             .delegate_id = layer.name,
                             .metadata = fmt::format(R"({{"operation":"{}","cycles":{},"macs":{}}})", layer.operation,
                                                     layer.cycles, layer.macs),
                             .start_ns = start,
                             .end_ns = start + ns_of(layer.cycles, npu.clock_hz)});
  }
  return start_ns + ns_of(npu.cycles, npu.clock_hz);
}

}  // namespace

pte::RunRecord record_of(std::span<const InstructionTime> times, const runtime::Method& method,
                         const Invocation& invocation) {
  pte::RunRecord record;
  const uint64_t start = times.empty() ? 0 : times.front().start_ns;
  uint64_t at = start;  // on a time line at the NPU's own clock rate
  for (const InstructionTime& time : times) {
    const auto instruction = static_cast<int32_t>(time.instruction);
    const std::string_view name = method.instruction_name(time.instruction);
    const uint64_t began = at;
    if (method.calls_delegate(time.instruction)) {
      for (size_t i = 0; i < time.invocations; ++i)
        at = add_layers(invocation(time.first_invocation + i), instruction, at, record);
    }
    if (at == began) at += time.end_ns - time.start_ns;
    const pte::ProfileEvent event{.instruction = instruction, .start_ns = began, .end_ns = at};
    const auto add = [&](std::string text) {
      record.events.push_back(event);
      record.events.back().name = std::move(text);
    };
    if (method.calls_delegate(time.instruction)) {
      add(kDelegateCall);
    } else if (!name.empty()) {
      add(kernel_event(name));
      add(kOperatorCall);
    }
  }
  record.events.push_back({.name = kMethodExecute, .start_ns = start, .end_ns = at});
  return record;
}

}  // namespace carina::execute
