#include "boards/image_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "facts/executorch.h"
#include "npu/delegate_blob.h"
#include "npu/disassemble.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "runtime/backends/ethos_u.h"
#include "runtime/backends/npu_sizes.h"
#include "runtime/program.h"
#include "runtime/sizes.h"

namespace carina::boards {

namespace {

constexpr uint64_t kPoolAlignment = 64;  // of firmware/runner/model.cpp

uint64_t rounded(uint64_t bytes) {
  return (bytes + kPoolAlignment - 1) / kPoolAlignment * kPoolAlignment;
}

// The least memory that the method takes which an image runs: "forward", else the first. No value if it is not known.
std::optional<runtime::MethodSizes> sizes_of(const Buffer& file) {
  runtime::Program program;
  if (program.load(file.bytes()) != runtime::Error::kOk || program.methods() == 0) return std::nullopt;
  size_t method = 0;
  for (size_t i = 0; i < program.methods(); ++i) {
    if (program.method_name(i) == "forward") method = i;
  }
  runtime::MethodSizes sizes;
  const runtime::Sizers sizers{.delegate = runtime::npu_delegate_sizes, .place_of = runtime::npu_argument_place};
  if (runtime::method_sizes(program, method, sizers, sizes, runtime::kCortexMTypes) != runtime::Error::kOk)
    return std::nullopt;
  return sizes;
}

std::unexpected<Diagnostics> too_small(const std::string& where, std::string_view pool, uint64_t needed,
                                       uint64_t available, std::string hint) {
  return fail({.where = where,
               .what = fmt::format("the program does not fit into the {} of the image", pool),
               .expected = fmt::format("at most {} bytes", available),
               .got = fmt::format("{} bytes", needed),
               .hint = std::move(hint)});
}

// The most weights of a convolution in a stream, as the image's simulator decodes them: taps x input channels x output
// channels, without the input channels if it is depthwise.
uint64_t most_weights(npu::Product product, std::span<const npu::Command> commands) {
  npu::RegisterFile registers(product);
  const auto size = [&](npu::Reg reg) { return uint64_t{registers.param(reg)} + 1; };
  uint64_t most = 0;
  for (const npu::Command& command : commands) {
    if (command.kind == npu::Command::Kind::kRegister) {
      registers.write(command);
      continue;
    }
    const bool depthwise = command.op == npu::Op::DEPTHWISE;
    if (!depthwise && command.op != npu::Op::CONV) continue;
    const uint64_t taps = size(npu::Reg::KERNEL_WIDTH_M1) * size(npu::Reg::KERNEL_HEIGHT_M1);
    most = std::max(most, taps * (depthwise ? 1 : size(npu::Reg::IFM_DEPTH_M1)) * size(npu::Reg::OFM_DEPTH_M1));
  }
  return most;
}

// How many weights the simulator in an image has memory for; no value if there is none.
std::optional<uint64_t> weights_of_simulator(const Buffer& image) {
  const auto magic = std::as_bytes(std::span(firmware::kNpuCoreMagic));
  const auto found = std::ranges::search(image.bytes(), magic);
  if (found.empty() || static_cast<size_t>(image.bytes().end() - found.begin()) < sizeof(firmware::NpuCore))
    return std::nullopt;
  firmware::NpuCore core;
  std::memcpy(&core, image.bytes().data() + (found.begin() - image.bytes().begin()), sizeof core);
  return core.workspace_bytes / sizeof(int16_t);
}

}  // namespace

Result<void> fit_pools(const Buffer& program, const std::string& where, const firmware::ImageSlot& slot,
                       firmware::ModelHeader& header) {
  const std::optional<runtime::MethodSizes> sizes = sizes_of(program);
  if (!sizes) return {};
  const uint64_t fast = rounded(header.fast_pool_bytes);
  if (fast > slot.pools_bytes)
    return too_small(where, "memory pools", fast, slot.pools_bytes, "--fast-pool BYTES is its part of them");
  const uint64_t rest = slot.pools_bytes - fast;
  const uint64_t method = rounded(sizes->method_bytes + sizes->planned_bytes);
  const uint64_t scratch = rounded(sizes->scratch_bytes);
  const uint64_t given_method = header.method_pool_bytes, given_temp = header.temp_pool_bytes;
  if (given_method != 0 && method > given_method)
    return too_small(where, "method pool", method, given_method, "--method-pool BYTES");
  if (given_temp != 0 && scratch > given_temp)
    return too_small(where, "temp pool", scratch, given_temp, "--temp-pool BYTES");
  if (method + scratch > rest)
    return too_small(where, "memory pools", method + scratch, rest,
                     fmt::format("{} bytes are planned values and tables, {} the scratch of the NPU; compile with "
                                 "--sram-budget or -Os, or use an image with more memory",
                                 method, scratch));
  if (given_method != 0 || given_temp != 0 || sizes->calls_with_more_scratch > 0) return {};
  if (method <= rest / 2 && scratch <= rest - rest / 2) return {};
  // Inputs and the profile of layers may take more of the method pool than is known here: it gets what is free.
  header.method_pool_bytes = static_cast<uint32_t>((rest - scratch) / kPoolAlignment * kPoolAlignment);
  return {};
}

Result<void> check_weights(const pte::Program& program, const std::string& where, const Buffer& image) {
  const std::optional<uint64_t> available = weights_of_simulator(image);
  if (!available) return {};
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (!is_ethos_u(delegate.backend)) continue;
      CARINA_TRY(const npu::NetworkInFile read, npu::read_delegate_blob_in_place(delegate.blob, where));
      CARINA_TRY(const npu::Payload payload, npu::parse_payload(read.network.command_payload, where));
      if (payload.accelerator() == nullptr) continue;  // the image says so
      CARINA_TRY(const std::vector<npu::Command> commands,
                 npu::read_commands(payload.accelerator()->product, payload.stream, where));
      const uint64_t most = most_weights(payload.accelerator()->product, commands);
      if (most > *available)
        return fail({.where = where,
                     .what = "the simulator in the image has no memory for the weights of an operation",
                     .expected = fmt::format("at most {} weights", *available),
                     .got = fmt::format("{} weights", most),
                     .hint = "--image corstone300-image has more memory, and corstone300-host simulates the NPU on "
                             "the host"});
    }
  }
  return {};
}

}  // namespace carina::boards
