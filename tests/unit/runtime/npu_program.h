#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/backends/ethos_u.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {

// Programs with an Ethos-U delegate for tests, and a device for them.

inline void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

inline void append_block(std::vector<std::byte>& out, const std::string& name, const std::vector<std::byte>& data) {
  char header[32] = {};
  std::memcpy(header, name.data(), name.size());
  const auto size = static_cast<uint32_t>(data.size());
  std::memcpy(header + 16, &size, 4);
  append(out, header, sizeof header);
  append(out, data.data(), data.size());
  out.resize((out.size() + 15) / 16 * 16);
}

inline std::vector<std::byte> words(const std::vector<int32_t>& numbers) {
  std::vector<std::byte> out;
  append(out, numbers.data(), numbers.size() * 4);
  return out;
}

struct Blob {
  std::vector<int32_t> commands{0x31504f43, 7, 8};  // "COP1"
  std::vector<int32_t> inputs{1, 1, 1, 1, 1, 1, 8, 1, 0, 1};
  std::vector<int32_t> outputs{1, 1, 1, 1, 1, 1, 8, 1, 16, 1};
  int32_t scratch = 32;
  bool old = false;  // the format of ExecuTorch before 0.4: scratch_data, and rows as the test gives them

  [[nodiscard]] std::vector<std::byte> write() const {
    std::vector<std::byte> out;
    append_block(out, "vela_bin_stream", {});
    append_block(out, "cmd_data", words(commands));
    append_block(out, "weight_data", words({1, 2, 3}));
    if (old) {
      append_block(out, "scratch_data", std::vector<std::byte>(static_cast<size_t>(scratch)));
    } else {
      append_block(out, "scratch_size", words({scratch}));
    }
    append_block(out, "inputs", words(inputs));
    append_block(out, "outputs", words(outputs));
    append_block(out, "vela_end_stream", {});
    return out;
  }
};

// Adds 1 to the 8 bytes of the input.
class AddingDriver final : public NpuDriver {
 public:
  Error invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) override {
    ++calls;
    commands = payload.size();
    weights = bases[0].size();
    for (size_t i = 0; i < 8; ++i) bases[1][16 + i] = static_cast<std::byte>(std::to_integer<int>(bases[1][i]) + 1);
    return result;
  }
  Error result = Error::kOk;
  int calls = 0;
  size_t commands = 0;
  size_t weights = 0;
};

inline ProgramBuilder program_with(const std::vector<std::byte>& blob, const Shape& in = {8}, const Shape& out = {8},
                                   DType out_type = DType::kInt8) {
  ProgramBuilder builder;
  const int32_t x = builder.tensor(in, DType::kInt8);
  const int32_t y = builder.tensor(out, out_type);
  builder.plan().inputs = {x};
  builder.plan().outputs = {y};
  builder.plan().delegates.push_back(
      {.backend = "EthosUBackend", .blob = Buffer::copy_of(blob), .compile_specs = {{"target", {1, 2}}}});
  builder.plan().instructions.emplace_back(pte::DelegateCall{.delegate = 0, .arguments = {x, y}});
  return builder;
}

}  // namespace carina::runtime
