#include "pte/writer.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/checked_math.h"
#include "base/memory/flatbuffer_memory.h"
#include "base/parallel/parallel.h"
#include "facts/executorch.h"
#include "program_generated.h"
#include "pte/scalar_type.h"

namespace carina::pte {

namespace {

namespace fb = carina::pte::schema;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Bytes that are not copied yet, and their offset in the segment.
struct Chunk {
  uint64_t offset = 0;
  std::span<const std::byte> bytes;
};
uint64_t end_of(std::span<const Chunk> chunks) {
  return chunks.empty() ? 0 : chunks.back().offset + chunks.back().bytes.size();
}

// The segments of the file, which follow the FlatBuffer.
struct Segments {
  std::vector<Offset<fb::DataSegment>> table;
  std::vector<Chunk> chunks;

  // Appends an aligned segment, whose chunks are in ascending order. Returns its index.
  uint32_t add(FlatBufferBuilder& builder, std::span<const Chunk> parts) {
    const uint64_t begin = round_up<uint64_t>(end_of(chunks), kPteSegmentAlignmentBytes);
    table.push_back(fb::CreateDataSegment(builder, begin, end_of(parts)));
    for (const Chunk& part : parts) chunks.push_back({.offset = begin + part.offset, .bytes = part.bytes});
    return static_cast<uint32_t>(table.size() - 1);
  }
};

std::vector<uint8_t> dim_order_of(const TensorSpec& tensor) {
  if (!tensor.dim_order.empty() || tensor.shape.rank() == 0) return tensor.dim_order;
  std::vector<uint8_t> order(tensor.shape.rank());
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

// `initial`: the index of the tensor's initial value in the mutable data; 0: none.
Offset<fb::Tensor> write_tensor(FlatBufferBuilder& builder, const TensorSpec& tensor, uint32_t initial) {
  Offset<fb::AllocationDetails> allocation;
  if (tensor.allocation) {
    const uint64_t offset = tensor.allocation->offset_bytes;
    allocation = fb::CreateAllocationDetails(builder, tensor.allocation->memory_id, static_cast<uint32_t>(offset),
                                             static_cast<uint32_t>(offset >> 32));
  }
  std::vector<int32_t> sizes;
  for (const int64_t dim : tensor.shape.dims()) sizes.push_back(static_cast<int32_t>(dim));
  const std::vector<uint8_t> order = dim_order_of(tensor);
  const auto scalar_type = scalar_type_of(tensor.dtype);
  CARINA_CHECK(scalar_type.has_value(), "{} is not an element type of .pte", name_of(tensor.dtype));
  Offset<fb::ExtraTensorInfo> extra;
  if (!tensor.external_name.empty())
    extra = fb::CreateExtraTensorInfoDirect(builder, 0, tensor.external_name.c_str(), kPteExternalLocation);
  if (!tensor.state_name.empty()) extra = fb::CreateExtraTensorInfoDirect(builder, 0, tensor.state_name.c_str());
  return fb::CreateTensorDirect(builder, static_cast<int8_t>(*scalar_type), 0, &sizes, &order, false,
                                initial != 0 ? initial : tensor.constant, allocation, 0, 0, extra);
}

struct Written {
  fb::KernelTypes tag;
  Offset<void> value;
};

// Writes a value, with one overload for each kind.
struct ValueWriter {
  FlatBufferBuilder& builder;
  uint32_t& initial_values;  // written so far
  Written operator()(None) const { return {fb::KernelTypes::Null, fb::CreateNull(builder).Union()}; }
  Written operator()(int64_t v) const { return {fb::KernelTypes::Int, fb::CreateInt(builder, v).Union()}; }
  Written operator()(bool v) const { return {fb::KernelTypes::Bool, fb::CreateBool(builder, v).Union()}; }
  Written operator()(double v) const { return {fb::KernelTypes::Double, fb::CreateDouble(builder, v).Union()}; }
  Written operator()(const std::string& v) const {
    return {fb::KernelTypes::String, fb::CreateStringDirect(builder, v.c_str()).Union()};
  }
  Written operator()(const TensorSpec& v) const {
    const uint32_t initial = v.initial.size() == 0 ? 0 : ++initial_values;
    return {fb::KernelTypes::Tensor, write_tensor(builder, v, initial).Union()};
  }
  Written operator()(const IntList& v) const {
    return {fb::KernelTypes::IntList, fb::CreateIntListDirect(builder, &v.values).Union()};
  }
  Written operator()(const DoubleList& v) const {
    return {fb::KernelTypes::DoubleList, fb::CreateDoubleListDirect(builder, &v.numbers).Union()};
  }
  Written operator()(const BoolList& v) const {
    const std::vector<uint8_t> flags(v.flags.begin(), v.flags.end());
    return {fb::KernelTypes::BoolList, fb::CreateBoolListDirect(builder, &flags).Union()};
  }
  Written operator()(const TensorList& v) const {
    if (v.optional)
      return {fb::KernelTypes::OptionalTensorList, fb::CreateOptionalTensorListDirect(builder, &v.tensors).Union()};
    return {fb::KernelTypes::TensorList, fb::CreateTensorListDirect(builder, &v.tensors).Union()};
  }
};

struct InstructionWriter {
  FlatBufferBuilder& builder;
  Offset<fb::Instruction> operator()(const KernelCall& c) const {
    return fb::CreateInstruction(builder, fb::InstructionArguments::KernelCall,
                                 fb::CreateKernelCallDirect(builder, c.op, &c.arguments).Union());
  }
  Offset<fb::Instruction> operator()(const DelegateCall& c) const {
    return fb::CreateInstruction(builder, fb::InstructionArguments::DelegateCall,
                                 fb::CreateDelegateCallDirect(builder, c.delegate, &c.arguments).Union());
  }
  Offset<fb::Instruction> operator()(const MoveCall& c) const {
    return fb::CreateInstruction(builder, fb::InstructionArguments::MoveCall,
                                 fb::CreateMoveCall(builder, c.from, c.to).Union());
  }
  Offset<fb::Instruction> operator()(const JumpFalseCall& c) const {
    return fb::CreateInstruction(builder, fb::InstructionArguments::JumpFalseCall,
                                 fb::CreateJumpFalseCall(builder, c.condition, c.destination).Union());
  }
  Offset<fb::Instruction> operator()(const FreeCall& c) const {
    return fb::CreateInstruction(builder, fb::InstructionArguments::FreeCall,
                                 fb::CreateFreeCall(builder, c.value).Union());
  }
};

// Writes the delegates of all plans, with their blobs inline or in segments.
struct DelegateWriter {
  FlatBufferBuilder& builder;
  const WriteOptions& options;
  Segments& segments;
  std::vector<Offset<fb::BackendDelegateInlineData>> inline_data;

  Offset<fb::BackendDelegate> operator()(const Delegate& delegate) {
    const auto reference =
        options.delegate_data == DelegateData::kInline ? write_inline(delegate.blob) : write_segment(delegate.blob);
    std::vector<Offset<fb::CompileSpec>> specs;
    for (const auto& [key, value] : delegate.compile_specs)
      specs.push_back(fb::CreateCompileSpecDirect(builder, key.c_str(), &value));
    return fb::CreateBackendDelegateDirect(builder, delegate.backend.c_str(), reference, &specs);
  }

 private:
  Offset<fb::BackendDelegateDataReference> write_inline(const Buffer& blob) {
    builder.ForceVectorAlignment(blob.size(), 1, kPteConstantAlignmentBytes);
    uint8_t* to = nullptr;
    const Offset<flatbuffers::Vector<uint8_t>> data = builder.CreateUninitializedVector<uint8_t>(blob.size(), &to);
    constexpr size_t kPart = size_t{1} << 20;
    parallel_for_chunks(blob.size(), kPart,
                        [&](size_t begin, size_t end) { std::memcpy(to + begin, blob.data() + begin, end - begin); });
    inline_data.push_back(fb::CreateBackendDelegateInlineData(builder, data));
    return fb::CreateBackendDelegateDataReference(builder, 0, static_cast<uint32_t>(inline_data.size() - 1));
  }
  Offset<fb::BackendDelegateDataReference> write_segment(const Buffer& blob) {
    return fb::CreateBackendDelegateDataReference(builder, 1,
                                                  segments.add(builder, std::array{Chunk{.bytes = blob.bytes()}}));
  }
};

Offset<fb::ExecutionPlan> write_plan(FlatBufferBuilder& builder, const Plan& plan, DelegateWriter& delegate_writer,
                                     uint32_t& initial_values) {
  std::vector<Offset<fb::EValue>> values;
  for (const Value& value : plan.values) {
    const Written written = std::visit(ValueWriter{.builder = builder, .initial_values = initial_values}, value);
    values.push_back(fb::CreateEValue(builder, written.tag, written.value));
  }
  std::vector<Offset<fb::Operator>> operators;
  for (const Operator& op : plan.operators)
    operators.push_back(fb::CreateOperatorDirect(builder, op.name.c_str(), op.overload.c_str()));
  std::vector<Offset<fb::BackendDelegate>> delegates;
  for (const Delegate& delegate : plan.delegates) delegates.push_back(delegate_writer(delegate));
  std::vector<Offset<fb::Instruction>> instructions;
  for (const Instruction& instruction : plan.instructions)
    instructions.push_back(std::visit(InstructionWriter{builder}, instruction));
  const std::vector<int32_t> none;
  const std::vector<Offset<fb::Chain>> chains{fb::CreateChainDirect(builder, &none, &none, &instructions)};
  std::vector<int64_t> buffer_sizes{0};  // entry 0 is unused, because memory ids start at 1
  buffer_sizes.insert(buffer_sizes.end(), plan.planned_bytes.begin(), plan.planned_bytes.end());
  const auto meta =
      fb::CreateContainerMetadataDirect(builder, plan.encoded_inputs.c_str(), plan.encoded_outputs.c_str());
  return fb::CreateExecutionPlanDirect(builder, plan.name.c_str(), meta, &values, &plan.inputs, &plan.outputs, &chains,
                                       &operators, &delegates, &buffer_sizes);
}

// Appends data to those of a segment, aligned.
void append(std::vector<Chunk>& chunks, const Buffer& data) {
  chunks.push_back({.offset = round_up<uint64_t>(end_of(chunks), kPteConstantAlignmentBytes), .bytes = data.bytes()});
}

// Places all constants in one segment.
std::vector<Chunk> lay_out_constants(std::span<const Buffer> constants) {
  std::vector<Chunk> chunks;
  for (const Buffer& constant : constants.subspan(std::min<size_t>(1, constants.size()))) append(chunks, constant);
  return chunks;
}

// Places the initial values of the state in one segment, in the order in which ValueWriter numbers them.
std::vector<Chunk> lay_out_initial_values(const Program& program) {
  std::vector<Chunk> chunks;
  for (const Plan& plan : program.plans) {
    for (const Value& value : plan.values) {
      const auto* tensor = std::get_if<TensorSpec>(&value);
      if (tensor != nullptr && tensor->initial.size() > 0) append(chunks, tensor->initial);
    }
  }
  return chunks;
}

std::vector<uint64_t> offsets_of(std::span<const Chunk> chunks) {
  std::vector<uint64_t> offsets{0};  // the format requires this dummy entry
  for (const Chunk& chunk : chunks) offsets.push_back(chunk.offset);
  return offsets;
}

void put(std::vector<std::byte>& out, size_t at, const void* data, size_t size) {
  if (size > 0) std::memcpy(out.data() + at, data, size);
}

// Joins FlatBuffer, header and segments to a file. The header is inserted after the file identifier, and the root
// offset is increased by its size.
std::vector<std::byte> join(std::span<const std::byte> flatbuffer, std::span<const Chunk> segments) {
  const uint64_t program_bytes = flatbuffer.size() + kPteExtendedHeaderBytes;
  const uint64_t segment_base = round_up<uint64_t>(program_bytes, kPteSegmentAlignmentBytes);
  const uint64_t segment_bytes = end_of(segments);
  std::vector<std::byte> file(segment_base + segment_bytes);
  uint32_t root = 0;
  std::memcpy(&root, flatbuffer.data(), 4);
  root += kPteExtendedHeaderBytes;
  put(file, 0, &root, 4);
  put(file, 4, flatbuffer.data() + 4, 4);
  put(file, 8, kPteExtendedHeaderMagic.data(), 4);
  put(file, 12, &kPteExtendedHeaderBytes, 4);
  put(file, 16, &program_bytes, 8);
  put(file, 24, &segment_base, 8);
  put(file, 32, &segment_bytes, 8);
  put(file, 8 + kPteExtendedHeaderBytes, flatbuffer.data() + 8, flatbuffer.size() - 8);
  for (const Chunk& chunk : segments) put(file, segment_base + chunk.offset, chunk.bytes.data(), chunk.bytes.size());
  return file;
}

size_t data_bytes(const Program& program) {
  size_t total = 0;
  for (const Plan& plan : program.plans) {
    for (const Delegate& delegate : plan.delegates) total += delegate.blob.size();
  }
  return total;
}

size_t spec_bytes(const Program& program) {
  size_t total = 0;
  for (const Plan& plan : program.plans) {
    for (const Delegate& delegate : plan.delegates) {
      for (const auto& [key, value] : delegate.compile_specs) total += key.size() + value.size();
    }
  }
  return total;
}

}  // namespace

bool delegates_fit_inline(const Program& program) {
  return data_bytes(program) <= size_t{1} << 30;
}

Result<std::vector<std::byte>> write_program(const Program& program, const WriteOptions& options) {
  if (options.delegate_data == DelegateData::kInline && !delegates_fit_inline(program)) {
    return fail({.where = "program",
                 .what = "the delegates are too large to stand inside the FlatBuffer",
                 .hint = "write them to segments"});
  }
  constexpr size_t kBesideData = 1 << 16;
  const size_t inlined = options.delegate_data == DelegateData::kInline ? data_bytes(program) : 0;
  FlatbufferMemory memory;
  // Reserves the whole size, because a builder that grows needs three times its size.
  FlatBufferBuilder builder(inlined + spec_bytes(program) + kBesideData, &memory);
  Segments segments;
  const std::vector<Chunk> constants_laid = lay_out_constants(program.constants);
  const std::vector<uint64_t> constant_offsets = offsets_of(constants_laid);
  const uint32_t constant_index = segments.add(builder, constants_laid);
  const std::vector<Chunk> initial_laid = lay_out_initial_values(program);
  const std::vector<uint64_t> initial_offsets = offsets_of(initial_laid);
  const uint32_t initial_index = initial_laid.empty() ? 0 : segments.add(builder, initial_laid);
  uint32_t initial_values = 0;
  DelegateWriter delegate_writer{.builder = builder, .options = options, .segments = segments, .inline_data = {}};
  std::vector<Offset<fb::ExecutionPlan>> plans;
  for (const Plan& plan : program.plans) plans.push_back(write_plan(builder, plan, delegate_writer, initial_values));
  const std::vector<Offset<fb::Buffer>> no_buffers;
  const auto constants = fb::CreateSubsegmentOffsetsDirect(builder, constant_index, &constant_offsets);
  std::vector<Offset<fb::SubsegmentOffsets>> initial;
  if (!initial_laid.empty())
    initial.push_back(fb::CreateSubsegmentOffsetsDirect(builder, initial_index, &initial_offsets));
  builder.Finish(fb::CreateProgramDirect(builder, 0, &plans, &no_buffers, &delegate_writer.inline_data, &segments.table,
                                         constants, initial.empty() ? nullptr : &initial),
                 kPteIdentifier.data());
  const std::span<const std::byte> flatbuffer = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return segments.chunks.empty() ? memory.take(flatbuffer) : join(flatbuffer, segments.chunks);
}

}  // namespace carina::pte
