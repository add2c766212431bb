#include "stream_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/io/file.h"
#include "npu/vela_raw.h"
#include "tensor/npy.h"

namespace carina::simulate {

namespace {

constexpr size_t kSlackBytes = 64;  // the network's own sizes may omit the end of a tensor's last brick

int64_t bytes_of(const npu::IoTensor& io) {
  int64_t bytes = io.element_bytes;
  for (const int32_t dim : io.shape) bytes *= dim;
  return bytes;
}

}  // namespace

Result<Tensor> load_npy(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  return read_npy(file, path);
}

Result<StreamCase> StreamCase::load(const std::string& npz_path) {
  CARINA_TRY(const Buffer file, map_file(npz_path));
  StreamCase result;
  CARINA_TRY(result.network_, npu::read_vela_raw(file, npz_path));
  result.weights_ = result.network_.weights;
  result.weights_.resize((result.weights_.size() + 15) / 16 * 16);
  result.scratch_.resize(static_cast<size_t>(result.network_.scratch_bytes) + kSlackBytes);
  result.fast_scratch_.resize(static_cast<size_t>(result.network_.fast_scratch_bytes) + kSlackBytes);
  return result;
}

Result<Report> StreamCase::run(Simulator& simulator, const std::vector<std::string>& input_paths) {
  Memory memory;
  memory.regions[static_cast<size_t>(network_.weight_region)] = weights_;
  memory.regions[static_cast<size_t>(network_.scratch_region)] = scratch_;
  // If there is no separate fast memory, region 2 is the arena.
  if (network_.fast_scratch_region != network_.scratch_region &&
      network_.fast_scratch_region != network_.weight_region) {
    memory.regions[static_cast<size_t>(network_.fast_scratch_region)] =
        network_.fast_scratch_bytes != 0 ? fast_scratch_ : scratch_;
  }
  if (!input_paths.empty() && input_paths.size() != network_.inputs.size()) {
    return fail(Diagnostic{.where = "inputs",
                           .what = "wrong number of inputs",
                           .expected = fmt::format("{}", network_.inputs.size()),
                           .got = fmt::format("{}", input_paths.size())});
  }
  for (size_t i = 0; i < input_paths.size(); ++i) {
    CARINA_TRY(const Tensor input, load_npy(input_paths[i]));
    const npu::IoTensor& io = network_.inputs[i];
    if (static_cast<int64_t>(input.data.size()) != bytes_of(io)) {
      return fail(Diagnostic{.where = input_paths[i],
                             .what = "wrong size",
                             .expected = fmt::format("{} bytes", bytes_of(io)),
                             .got = fmt::format("{} bytes", input.data.size())});
    }
    const std::span<std::byte> region = memory.regions[static_cast<size_t>(io.region)];
    if (io.offset < 0 || static_cast<uint64_t>(io.offset) + input.data.size() > region.size()) {
      return fail(Diagnostic{.where = input_paths[i], .what = "the input lies outside its region"});
    }
    std::memcpy(region.data() + io.offset, input.data.data(), input.data.size());
    memory.defined.push_back(
        {.region = io.region, .offset = static_cast<uint64_t>(io.offset), .bytes = input.data.size()});
  }
  return simulator.run(network_.command_payload, memory);
}

std::vector<std::byte> StreamCase::output(size_t i) const {
  const npu::IoTensor& io = network_.outputs[i];
  const std::vector<std::byte>& region = io.region == network_.scratch_region ? scratch_
                                         : network_.fast_scratch_bytes != 0   ? fast_scratch_
                                                                              : scratch_;
  const auto begin = region.begin() + io.offset;
  return {begin, begin + bytes_of(io)};
}

Result<Difference> compare(std::span<const std::byte> got, const Tensor& expected) {
  if (got.size() != expected.data.size()) {
    return fail(Diagnostic{.where = "output",
                           .what = "wrong size",
                           .expected = fmt::format("{} bytes", expected.data.size()),
                           .got = fmt::format("{} bytes", got.size())});
  }
  Difference difference{.elements = static_cast<size_t>(expected.elements())};
  const size_t es = element_bytes(expected.dtype);
  const auto value = [es](const std::byte* p) {
    int64_t v = 0;
    std::memcpy(&v, p, es);
    const int unused = static_cast<int>(64 - 8 * es);
    return static_cast<int64_t>(static_cast<uint64_t>(v) << unused) >> unused;
  };
  for (size_t at = 0; at + es <= got.size(); at += es) {
    const int64_t delta = value(got.data() + at) - value(expected.data.data() + at);
    if (delta == 0) continue;
    ++difference.different;
    difference.largest = std::max(difference.largest, delta < 0 ? -delta : delta);
  }
  return difference;
}

}  // namespace carina::simulate
