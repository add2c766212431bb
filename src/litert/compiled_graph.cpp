#include "litert/compiled_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "npu/payload.h"

namespace carina::litert {

namespace {

constexpr int64_t kMaxMemory = int64_t{4} << 30;
constexpr size_t kFirstInput = 4;       // after stream, constants, scratch and fast scratch
constexpr size_t kPlanHeaderWords = 3;  // version, number of graphs, number of tensors

std::unexpected<Diagnostics> damaged(const std::string& where, std::string what, std::string expected = {},
                                     std::string got = {}) {
  return fail({.where = where, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
}

// The addresses of the main graph's tensors. All are -1 if the file has no plan.
Result<std::vector<int64_t>> read_addresses(const tflite::Model& model, const std::string& where) {
  const tflite::Subgraph& graph = model.subgraphs.front();
  std::vector<int64_t> out(graph.tensors.size(), -1);
  const auto plan = std::ranges::find(model.metadata, "OfflineMemoryAllocation", &tflite::Metadata::name);
  if (plan == model.metadata.end()) return out;
  size_t tensors = 0;
  for (const tflite::Subgraph& each : model.subgraphs) tensors += each.tensors.size();
  std::vector<int32_t> words(plan->data.size() / sizeof(int32_t));
  if (!words.empty()) std::memcpy(words.data(), plan->data.data(), words.size() * sizeof(int32_t));
  if (words.size() < kPlanHeaderWords + tensors || words[2] < 0 || static_cast<size_t>(words[2]) != tensors)
    return damaged(where + ": metadata OfflineMemoryAllocation", "not a plan of this file's tensors",
                   fmt::format("{} numbers for {} tensors", kPlanHeaderWords + tensors, tensors),
                   fmt::format("{} numbers", words.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int32_t address = words[kPlanHeaderWords + i];
    if (address < -1)
      return damaged(fmt::format("{}: tensor {}", where, graph.tensors[i].name), "an impossible address", {},
                     fmt::to_string(address));
    if (!graph.tensors[i].is_constant) out[i] = address;
  }
  return out;
}

class Reader {
 public:
  Reader(const tflite::Model& model, const std::string& where) : graph_(model.subgraphs.front()), where_(where) {}

  Result<CompiledGraph> read(std::vector<int64_t> addresses) {
    out_.addresses = std::move(addresses);
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
      if (graph_.operators[i].name == tflite::kNpuOperator) CARINA_CHECKED(add_stream(i));
    }
    CARINA_CHECKED(set_memory());
    return std::move(out_);
  }

 private:
  // A plan may leave gaps for alignment, but no tensor begins past the end of all others laid in a row. So a file
  // that declares little memory gets little.
  Result<void> set_memory() {
    int64_t declared = 0, own = 0;
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const int64_t bytes = graph_.tensors[i].bytes();
      if (is_fast_scratch(i)) {
        out_.fast_bytes = std::max(out_.fast_bytes, bytes);
        out_.addresses[i] = -1;  // in a memory of its own
      } else if (out_.addresses[i] >= 0) {
        declared += round_up<int64_t>(bytes, npu::kBaseAlignmentBytes);
        out_.arena_bytes = std::max(out_.arena_bytes, out_.addresses[i] + bytes);
      } else if (!graph_.tensors[i].is_constant) {
        own += bytes;
      }
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (out_.addresses[i] > declared)
        return damaged(fmt::format("{}: tensor {}", where_, graph_.tensors[i].name),
                       "an address past the end of the arena", fmt::format("at most {}", declared),
                       fmt::to_string(out_.addresses[i]));
    }
    if (out_.arena_bytes + out_.fast_bytes + own > kMaxMemory)
      return damaged(where_, "the tensors exceed the memory budget", fmt::format("at most {} bytes", kMaxMemory),
                     fmt::format("{} bytes (arena {}, fast scratch {}, others {})",
                                 out_.arena_bytes + out_.fast_bytes + own, out_.arena_bytes, out_.fast_bytes, own));
    return {};
  }

  const tflite::Tensor& tensor(int32_t index) const { return graph_.tensors[static_cast<size_t>(index)]; }

  [[nodiscard]] bool is_fast_scratch(size_t tensor) const {
    const auto is_any = [&](int32_t NpuOperator::* operand) {
      return std::ranges::find(out_.streams, static_cast<int32_t>(tensor), operand) != out_.streams.end();
    };
    return is_any(&NpuOperator::fast_scratch) && !is_any(&NpuOperator::scratch);
  }

  Result<void> add_stream(size_t index) {
    const tflite::Operator& op = graph_.operators[index];
    const std::string where = fmt::format("{}: operator {} {}", where_, index, op.name);
    if (op.inputs.size() < kFirstInput || std::ranges::find(op.inputs, tflite::kAbsent) != op.inputs.end())
      return damaged(where, "operands are missing", "stream, constants, scratch, fast scratch and inputs",
                     fmt::format("{} operands", op.inputs.size()));
    NpuOperator stream{.index = index, .payload = tensor(op.inputs[0]).data, .constants = tensor(op.inputs[1]).data};
    stream.scratch = op.inputs[2];
    stream.fast_scratch = op.inputs[3];
    stream.inputs.assign(op.inputs.begin() + kFirstInput, op.inputs.end());
    stream.outputs = op.outputs;
    if (tensor(stream.scratch).is_constant || tensor(stream.fast_scratch).is_constant)
      return damaged(where, "a scratch tensor that holds data");
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(stream.payload.bytes(), where));
    if (payload.accelerator() == nullptr)
      return damaged(where, "the stream is for an NPU that Carina does not know", {},
                     fmt::format("CONFIG {:#x}", payload.config_word));
    CARINA_CHECKED(set_scratch(stream, where));
    CARINA_CHECKED(check_edges(stream, payload, where));
    out_.streams.push_back(std::move(stream));
    return {};
  }

  // Scratch is at the start of the arena unless the plan says otherwise.
  Result<void> set_scratch(const NpuOperator& stream, const std::string& where) {
    int64_t& address = out_.addresses[static_cast<size_t>(stream.scratch)];
    address = std::max<int64_t>(address, 0);
    if (tensor(stream.scratch).dtype != DType::kUInt8 && tensor(stream.scratch).dtype != DType::kInt8)
      return damaged(where, "scratch of another type than bytes", "UINT8", tensor(stream.scratch).type_name);
    return {};
  }

  // A stream with addresses for everything reaches inputs and outputs through scratch. The other form (COP2) may give
  // each of them a region of its own, and a variable may have one in either.
  Result<void> check_edges(const NpuOperator& stream, const npu::Payload& payload, const std::string& where) const {
    for (const std::vector<int32_t>* edges : {&stream.inputs, &stream.outputs}) {
      for (const int32_t edge : *edges) {
        if (tensor(edge).dtype == DType::kUnknown)
          return damaged(where, "an input or output of a type that the NPU does not have", {}, tensor(edge).type_name);
        const bool is_placed = tensor(edge).bytes() > 0 && !tensor(edge).is_constant && !tensor(edge).is_variable;
        if (payload.format != npu::PayloadFormat::kCop2 && is_placed) CARINA_CHECKED(check_place(stream, edge, where));
      }
    }
    return {};
  }

  Result<void> check_place(const NpuOperator& stream, int32_t edge, const std::string& where) const {
    const int64_t address = out_.addresses[static_cast<size_t>(edge)];
    if (address < 0)
      return damaged(where, "an input or output without an address in OfflineMemoryAllocation", {}, tensor(edge).name);
    const int64_t begin = out_.addresses[static_cast<size_t>(stream.scratch)];
    const int64_t end = begin + tensor(stream.scratch).bytes();
    if (address >= begin && address + tensor(edge).bytes() <= end) return {};
    return damaged(where, fmt::format("tensor {} lies outside of scratch", tensor(edge).name),
                   fmt::format("addresses {} to {}", begin, end),
                   fmt::format("{} to {}", address, address + tensor(edge).bytes()));
  }

  const tflite::Subgraph& graph_;
  const std::string& where_;
  CompiledGraph out_;
};

npu::IoTensor io_of(const tflite::Tensor& tensor, int64_t offset) {
  npu::IoTensor io{.element_bytes = static_cast<int32_t>(element_bytes(tensor.dtype)), .region = 1, .offset = offset};
  const auto dims = tensor.shape.dims();
  if (dims.size() <= io.shape.size()) {
    for (size_t i = 0; i < dims.size(); ++i)
      io.shape[io.shape.size() - dims.size() + i] = static_cast<int32_t>(dims[i]);
  } else {
    io.shape.back() = static_cast<int32_t>(tensor.shape.elements());
  }
  return io;
}

}  // namespace

Result<CompiledGraph> read_compiled(const tflite::Model& model, const std::string& where) {
  CARINA_TRY(std::vector<int64_t> addresses, read_addresses(model, where));
  return Reader(model, where).read(std::move(addresses));
}

npu::NetworkInFile network_of(const tflite::Subgraph& graph, const CompiledGraph& compiled, const NpuOperator& stream) {
  npu::NetworkInFile out;
  const auto payload = stream.payload.bytes();
  out.network.command_payload.assign(payload.begin(), payload.end());
  out.network.scratch_bytes = compiled.arena_bytes;
  out.network.fast_scratch_bytes = compiled.fast_bytes;
  out.weights = stream.constants;
  const auto add = [&](const std::vector<int32_t>& tensors, std::vector<npu::IoTensor>& to) {
    for (const int32_t index : tensors) {
      const auto at = static_cast<size_t>(index);
      if (compiled.addresses[at] >= 0) to.push_back(io_of(graph.tensors[at], compiled.addresses[at]));
    }
  };
  add(stream.inputs, out.network.inputs);
  add(stream.outputs, out.network.outputs);
  return out;
}

}  // namespace carina::litert
