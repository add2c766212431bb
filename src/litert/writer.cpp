#include "litert/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <span>

#include "facts/npu_targets.h"
#include "litert/arena_internal.h"
#include "litert/options_copy_internal.h"
#include "tflite_generated.h"

// The file is built anew: what the old one has is copied table by table, except for the operators and tensors that only
// the NPU knows.
//   before: x -> CONV_2D -> a -> RELU -> b -> SOFTMAX -> y       after: x -> ethos-u -> b -> SOFTMAX -> y
// Tensors that no operator has any more, and their data, are left out.
namespace carina::litert {

namespace {

using flatbuffers::Offset;
namespace fb = tflite::fb;

constexpr int8_t kUInt8 = 3;       // TensorType of the schema
constexpr int8_t kCustomOld = 32;  // BuiltinOperator::CUSTOM
constexpr std::string_view kPlanName = "OfflineMemoryAllocation";
// A FlexBuffer of the number 1, the type of operator that TFLM's kernel expects.
constexpr uint8_t kNpuOptions[] = {1, 4, 1};
constexpr size_t kMaxBytes = (size_t{1} << 31) - (size_t{1} << 20);

template <typename T>
uint32_t size_of(const T* list) {
  return list == nullptr ? 0 : list->size();
}

template <typename T>
std::vector<T> list_of(const flatbuffers::Vector<T>* from) {
  std::vector<T> out(size_of(from));
  if (!out.empty()) std::memcpy(out.data(), from->Data(), out.size() * sizeof(T));
  return out;
}

// The data of the new file, by the number of the buffer.
class Buffers {
 public:
  // The number of a copy of the old file's buffer. 0: no data.
  uint32_t kept(const fb::Model& from, const Buffer& file, uint32_t old) {
    const std::span<const std::byte> bytes = bytes_of(*from.buffers()->Get(old), file);
    if (bytes.empty()) return 0;
    const auto [found, is_new] = numbers_.try_emplace(old, static_cast<uint32_t>(data_.size()));
    if (is_new) data_.push_back(bytes);
    return found->second;
  }
  // `bytes` must outlive this object.
  uint32_t add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return 0;
    data_.push_back(bytes);
    return static_cast<uint32_t>(data_.size() - 1);
  }
  [[nodiscard]] const std::vector<std::span<const std::byte>>& data() const { return data_; }

 private:
  static std::span<const std::byte> bytes_of(const fb::Buffer& from, const Buffer& file) {
    if (size_of(from.data()) != 0) return std::as_bytes(std::span(from.data()->data(), from.data()->size()));
    return from.offset() <= 1 ? std::span<const std::byte>() : file.bytes().subspan(from.offset(), from.size());
  }

  std::vector<std::span<const std::byte>> data_{{}};  // the first one is empty by convention
  std::map<uint32_t, uint32_t> numbers_;
};

// The operator codes of the new file.
class Codes {
 public:
  explicit Codes(const fb::Model& from) : from_(from) {}
  uint32_t kept(uint32_t old) { return number_of(static_cast<int64_t>(old)); }
  uint32_t npu() { return number_of(kNpu); }

  std::vector<Offset<fb::OperatorCode>> write(flatbuffers::FlatBufferBuilder& b) const {
    std::vector<Offset<fb::OperatorCode>> out;
    for (const int64_t old : order_) {
      if (old == kNpu) {
        out.push_back(fb::CreateOperatorCodeDirect(b, kCustomOld, "ethos-u", 1, kCustomOld));
        continue;
      }
      const fb::OperatorCode& code = *from_.operator_codes()->Get(static_cast<uint32_t>(old));
      const char* custom = code.custom_code() == nullptr ? nullptr : code.custom_code()->c_str();
      out.push_back(
          fb::CreateOperatorCodeDirect(b, code.deprecated_builtin_code(), custom, code.version(), code.builtin_code()));
    }
    return out;
  }

 private:
  static constexpr int64_t kNpu = -1;
  uint32_t number_of(int64_t old) {
    const auto found = std::ranges::find(order_, old);
    if (found != order_.end()) return static_cast<uint32_t>(found - order_.begin());
    order_.push_back(old);
    return static_cast<uint32_t>(order_.size() - 1);
  }

  const fb::Model& from_;
  std::vector<int64_t> order_;
};

// The names and numbers of the tensors of one new graph.
struct Tensors {
  std::vector<Offset<fb::Tensor>> made;
  std::vector<int64_t> addresses;   // by new tensor
  std::vector<int32_t> renumbered;  // by old tensor; -1: left out

  [[nodiscard]] std::vector<int32_t> of(const std::vector<int32_t>& old) const {
    std::vector<int32_t> out;
    for (const int32_t index : old) out.push_back(index < 0 ? index : renumbered[static_cast<size_t>(index)]);
    return out;
  }
};

class FileWriter {
 public:
  FileWriter(const Buffer& file, const tflite::Model& model, const std::vector<CompiledPart>& parts, std::string where)
      : file_(file),
        from_(*fb::GetModel(file.data())),
        model_(model),
        parts_(parts),
        where_(std::move(where)),
        arena_(plan_arena(model.subgraphs.front(), parts)),
        codes_(from_) {}

  Result<Written> write();

 private:
  [[nodiscard]] std::unexpected<Diagnostics> cannot(const std::string& part, std::string what) const {
    return fail({.where = fmt::format("{}: {}", where_, part), .what = std::move(what)});
  }
  Result<void> copy_tensor(size_t graph, size_t index, int64_t address, Tensors& to);
  Result<Offset<fb::Operator>> copy_operator(size_t graph, size_t index, const Tensors& tensors);
  int32_t add_tensor(const std::string& name, int64_t bytes, std::span<const std::byte> data, int64_t address,
                     Tensors& to);
  Result<Offset<fb::Operator>> add_stream(size_t part, Tensors& tensors);
  Result<Offset<fb::SubGraph>> write_main();
  Result<Offset<fb::SubGraph>> copy_graph(size_t graph);
  Offset<fb::SubGraph> finish_graph(size_t graph, const Tensors& tensors,
                                    const std::vector<Offset<fb::Operator>>& operators);
  std::vector<Offset<fb::SignatureDef>> copy_signatures();
  std::vector<Offset<fb::Metadata>> write_metadata();
  [[nodiscard]] std::vector<bool> main_tensors() const;

  Buffer file_;
  const fb::Model& from_;
  const tflite::Model& model_;
  const std::vector<CompiledPart>& parts_;
  std::string where_;
  Arena arena_;
  Codes codes_;
  Buffers buffers_;
  std::vector<std::vector<std::byte>> payloads_;  // reserved: buffers_ has views
  std::vector<Tensors> tensors_;                  // by graph
  std::vector<int32_t> allocation_;
  int32_t scratch_ = -1;
  int32_t fast_scratch_ = -1;
  flatbuffers::FlatBufferBuilder b_;
};

Offset<fb::QuantizationParameters> copy_quantization(flatbuffers::FlatBufferBuilder& b,
                                                     const fb::QuantizationParameters* from) {
  if (from == nullptr) return {};
  const std::vector<float> min = list_of(from->min()), max = list_of(from->max()), scale = list_of(from->scale());
  const std::vector<int64_t> zero_point = list_of(from->zero_point());
  const auto given = [](const auto* list, const auto& copy) { return list == nullptr ? nullptr : &copy; };
  return fb::CreateQuantizationParametersDirect(b, given(from->min(), min), given(from->max(), max),
                                                given(from->scale(), scale), given(from->zero_point(), zero_point), 0,
                                                0, from->quantized_dimension());
}

Result<void> FileWriter::copy_tensor(size_t graph, size_t index, int64_t address, Tensors& to) {
  const fb::Tensor& from =
      *from_.subgraphs()->Get(static_cast<uint32_t>(graph))->tensors()->Get(static_cast<uint32_t>(index));
  if (from.sparsity() != nullptr || size_of(from.variant_tensors()) != 0)
    return cannot(fmt::format("tensor {}", model_.subgraphs[graph].tensors[index].name),
                  "a sparse or variant tensor, which Carina cannot write");
  const auto dims = model_.subgraphs[graph].tensors[index].shape.dims();  // the user's, if the batch is dynamic
  const std::vector<int32_t> shape(dims.begin(), dims.end()), signature = list_of(from.shape_signature());
  const auto quantization = copy_quantization(b_, from.quantization());
  to.renumbered[index] = static_cast<int32_t>(to.made.size());
  to.addresses.push_back(address);
  to.made.push_back(fb::CreateTensorDirect(
      b_, from.shape() == nullptr ? nullptr : &shape, from.type(), buffers_.kept(from_, file_, from.buffer()),
      from.name() == nullptr ? nullptr : from.name()->c_str(), quantization, from.is_variable(), {},
      from.shape_signature() == nullptr ? nullptr : &signature, from.has_rank()));
  return {};
}

int32_t FileWriter::add_tensor(const std::string& name, int64_t bytes, std::span<const std::byte> data, int64_t address,
                               Tensors& to) {
  const std::vector<int32_t> shape{static_cast<int32_t>(bytes)};
  to.addresses.push_back(address);
  to.made.push_back(fb::CreateTensorDirect(b_, &shape, kUInt8, buffers_.add(data), name.c_str()));
  return static_cast<int32_t>(to.made.size() - 1);
}

Result<Offset<fb::Operator>> FileWriter::copy_operator(size_t graph, size_t index, const Tensors& tensors) {
  const fb::Operator& from =
      *from_.subgraphs()->Get(static_cast<uint32_t>(graph))->operators()->Get(static_cast<uint32_t>(index));
  const std::string part = fmt::format("operator {} {}", index, model_.subgraphs[graph].operators[index].name);
  if (from.builtin_options_2_type() != 0 || from.large_custom_options_size() != 0)
    return cannot(part, "options of a kind that Carina cannot write");
  const std::span file(reinterpret_cast<const uint8_t*>(file_.data()), file_.size());
  CARINA_TRY(const auto options, copy_options(from, file, b_, fmt::format("{}: {}", where_, part)));
  const std::vector<int32_t> inputs = tensors.of(list_of(from.inputs())), outputs = tensors.of(list_of(from.outputs())),
                             intermediates = tensors.of(list_of(from.intermediates()));
  const std::vector<uint8_t> custom = list_of(from.custom_options()),
                             mutating = list_of(from.mutating_variable_inputs());
  const auto type = options.IsNull() ? fb::BuiltinOptions::NONE : from.builtin_options_type();
  return fb::CreateOperatorDirect(b_, codes_.kept(from.opcode_index()), &inputs, &outputs, type, options,
                                  custom.empty() ? nullptr : &custom, from.custom_options_format(),
                                  mutating.empty() ? nullptr : &mutating,
                                  intermediates.empty() ? nullptr : &intermediates);
}

// Operands, in this order: stream, constants, scratch, fast scratch, and the inputs, of which variables are the first.
// The stream writes the variables as well. Without memory of its own, fast scratch is scratch.
Result<Offset<fb::Operator>> FileWriter::add_stream(size_t part, Tensors& tensors) {
  const npu::NetworkInFile& compiled = parts_[part].network;
  const std::string suffix = payloads_.empty() ? "" : fmt::format("_{}", payloads_.size());
  CARINA_TRY(std::vector<std::byte> payload,
             with_copies(compiled.network.command_payload, arena_.before[part], arena_.after[part], where_));
  payloads_.push_back(std::move(payload));
  const auto bytes = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  std::vector<int32_t> inputs{
      add_tensor("ethos_u_command_stream" + suffix, bytes(payloads_.back()), payloads_.back(), -1, tensors),
      add_tensor("read_only" + suffix, bytes(compiled.weights), compiled.weights.bytes(), -1, tensors), scratch_,
      fast_scratch_};
  const std::vector<int32_t> given = tensors.of(parts_[part].part.inputs);
  std::vector<int32_t> outputs = tensors.of(parts_[part].part.outputs);
  outputs.resize(outputs.size() - parts_[part].part.variables.size());
  inputs.insert(inputs.end(), given.begin(), given.end());
  const std::vector<uint8_t> options(std::begin(kNpuOptions), std::end(kNpuOptions));
  return fb::CreateOperatorDirect(b_, codes_.npu(), &inputs, &outputs, fb::BuiltinOptions::NONE, {}, &options);
}

// The tensors that the new main graph still has.
std::vector<bool> FileWriter::main_tensors() const {
  const tflite::Subgraph& graph = model_.subgraphs.front();
  std::vector<bool> kept(graph.tensors.size());
  const auto keep = [&](const std::vector<int32_t>& list) {
    for (const int32_t index : list) {
      if (index >= 0 && static_cast<size_t>(index) < kept.size()) kept[static_cast<size_t>(index)] = true;
    }
  };
  keep(graph.inputs);
  keep(graph.outputs);
  for (const CompiledPart& part : parts_) {
    keep(part.part.inputs);
    keep(part.part.outputs);
    if (part.part.on_npu) continue;
    for (const size_t i : part.part.operators) {
      keep(graph.operators[i].inputs);
      keep(graph.operators[i].outputs);
      keep(list_of(from_.subgraphs()->Get(0)->operators()->Get(static_cast<uint32_t>(i))->intermediates()));
    }
  }
  return kept;
}

Result<Offset<fb::SubGraph>> FileWriter::write_main() {
  const std::vector<bool> kept = main_tensors();
  Tensors tensors{.made = {}, .addresses = {}, .renumbered = std::vector<int32_t>(kept.size(), -1)};
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) CARINA_CHECKED(copy_tensor(0, i, arena_.addresses[i], tensors));
  }
  int64_t fast_bytes = 0;
  bool has_streams = false;
  for (const CompiledPart& part : parts_) {
    has_streams = has_streams || part.part.on_npu;
    fast_bytes = std::max(fast_bytes, part.network.network.fast_scratch_bytes);
  }
  if (has_streams) scratch_ = add_tensor("scratch", arena_.bytes, {}, 0, tensors);
  fast_scratch_ = fast_bytes == 0 ? scratch_ : add_tensor("scratch_fast", fast_bytes, {}, 0, tensors);
  std::vector<Offset<fb::Operator>> operators;
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (parts_[p].part.on_npu) {
      CARINA_TRY(const auto stream, add_stream(p, tensors));
      operators.push_back(stream);
      continue;
    }
    for (const size_t i : parts_[p].part.operators) {
      CARINA_TRY(const auto made, copy_operator(0, i, tensors));
      operators.push_back(made);
    }
  }
  return finish_graph(0, tensors, operators);
}

Result<Offset<fb::SubGraph>> FileWriter::copy_graph(size_t graph) {
  const tflite::Subgraph& from = model_.subgraphs[graph];
  Tensors tensors{.made = {}, .addresses = {}, .renumbered = std::vector<int32_t>(from.tensors.size(), -1)};
  for (size_t i = 0; i < from.tensors.size(); ++i) CARINA_CHECKED(copy_tensor(graph, i, -1, tensors));
  std::vector<Offset<fb::Operator>> operators;
  for (size_t i = 0; i < from.operators.size(); ++i) {
    CARINA_TRY(const auto made, copy_operator(graph, i, tensors));
    operators.push_back(made);
  }
  return finish_graph(graph, tensors, operators);
}

Offset<fb::SubGraph> FileWriter::finish_graph(size_t graph, const Tensors& tensors,
                                              const std::vector<Offset<fb::Operator>>& operators) {
  const fb::SubGraph& from = *from_.subgraphs()->Get(static_cast<uint32_t>(graph));
  const std::vector<int32_t> inputs = tensors.of(model_.subgraphs[graph].inputs);
  const std::vector<int32_t> outputs = tensors.of(model_.subgraphs[graph].outputs);
  for (const int64_t address : tensors.addresses) allocation_.push_back(static_cast<int32_t>(address));
  tensors_.push_back(tensors);
  return fb::CreateSubGraphDirect(b_, &tensors.made, &inputs, &outputs, &operators,
                                  from.name() == nullptr ? nullptr : from.name()->c_str());
}

std::vector<Offset<fb::SignatureDef>> FileWriter::copy_signatures() {
  const auto copied = [&](const flatbuffers::Vector<Offset<fb::TensorMap>>* from, const Tensors* tensors) {
    std::vector<Offset<fb::TensorMap>> out;
    for (uint32_t i = 0; i < size_of(from); ++i) {
      const fb::TensorMap& map = *from->Get(i);
      const bool is_known = tensors != nullptr && map.tensor_index() < tensors->renumbered.size();
      const int32_t index = is_known ? tensors->renumbered[map.tensor_index()] : -1;
      if (index < 0) continue;
      out.push_back(fb::CreateTensorMapDirect(b_, map.name() == nullptr ? nullptr : map.name()->c_str(),
                                              static_cast<uint32_t>(index)));
    }
    return out;
  };
  std::vector<Offset<fb::SignatureDef>> out;
  for (uint32_t i = 0; i < size_of(from_.signature_defs()); ++i) {
    const fb::SignatureDef& from = *from_.signature_defs()->Get(i);
    const Tensors* tensors = from.subgraph_index() < tensors_.size() ? &tensors_[from.subgraph_index()] : nullptr;
    const auto inputs = copied(from.inputs(), tensors), outputs = copied(from.outputs(), tensors);
    out.push_back(fb::CreateSignatureDefDirect(
        b_, &inputs, &outputs, from.signature_key() == nullptr ? nullptr : from.signature_key()->c_str(),
        from.deprecated_tag() == nullptr ? nullptr : from.deprecated_tag()->c_str(), from.subgraph_index()));
  }
  return out;
}

std::vector<Offset<fb::Metadata>> FileWriter::write_metadata() {
  std::vector<Offset<fb::Metadata>> out;
  for (uint32_t i = 0; i < size_of(from_.metadata()); ++i) {
    const fb::Metadata& from = *from_.metadata()->Get(i);
    const std::string name = from.name() == nullptr ? "" : from.name()->str();
    if (name != kPlanName)
      out.push_back(fb::CreateMetadataDirect(b_, name.c_str(), buffers_.kept(from_, file_, from.buffer())));
  }
  if (scratch_ < 0) return out;
  const std::vector<int32_t> header{0, static_cast<int32_t>(tensors_.size()), static_cast<int32_t>(allocation_.size())};
  allocation_.insert(allocation_.begin(), header.begin(), header.end());
  out.push_back(fb::CreateMetadataDirect(b_, std::string(kPlanName).c_str(),
                                         buffers_.add(std::as_bytes(std::span(allocation_)))));
  return out;
}

Result<Written> FileWriter::write() {
  if (arena_.bytes > std::numeric_limits<int32_t>::max())
    return cannot("the arena", fmt::format("{} bytes do not fit a .tflite", arena_.bytes));
  payloads_.reserve(parts_.size());
  std::vector<Offset<fb::SubGraph>> graphs;
  for (size_t i = 0; i < model_.subgraphs.size(); ++i) {
    CARINA_TRY(const auto graph, i == 0 ? write_main() : copy_graph(i));
    graphs.push_back(graph);
  }
  const auto signatures = copy_signatures();
  const auto metadata = write_metadata();
  const auto codes = codes_.write(b_);
  size_t bytes = b_.GetSize();
  for (const std::span<const std::byte> data : buffers_.data()) bytes += data.size() + 2 * npu::kBaseAlignmentBytes;
  if (bytes > kMaxBytes) return cannot("the file", "a .tflite of more than 2 GB cannot be written");
  std::vector<Offset<fb::Buffer>> buffers;
  for (const std::span<const std::byte> data : buffers_.data()) {
    b_.ForceVectorAlignment(data.size(), 1, npu::kBaseAlignmentBytes);
    const auto list = data.empty() ? Offset<flatbuffers::Vector<uint8_t>>()
                                   : b_.CreateVector(reinterpret_cast<const uint8_t*>(data.data()), data.size());
    buffers.push_back(fb::CreateBuffer(b_, list));
  }
  const char* description = from_.description() == nullptr ? nullptr : from_.description()->c_str();
  b_.Finish(fb::CreateModelDirect(b_, from_.version(), &codes, &graphs, description, &buffers, nullptr, &metadata,
                                  signatures.empty() ? nullptr : &signatures),
            fb::ModelIdentifier());
  const auto all = std::as_bytes(std::span(b_.GetBufferPointer(), b_.GetSize()));
  return Written{.file = {all.begin(), all.end()}, .arena_bytes = arena_.bytes};
}

}  // namespace

Result<Written> write_compiled(const Buffer& file, const tflite::Model& model, const std::vector<CompiledPart>& parts,
                               const std::string& where) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) == 0;
  const Buffer bytes = is_aligned ? file : Buffer::copy_of(file.bytes());
  return FileWriter(bytes, model, parts, where).write();
}

}  // namespace carina::litert
