#include "pte/reader.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "carina/tensor.h"
#include "facts/executorch.h"
#include "program_generated.h"
#include "pte/scalar_type.h"

namespace carina::pte {

namespace {

namespace fb = carina::pte::schema;

// The offsets of the segments in the file, from the extended header.
struct Layout {
  uint64_t program_bytes = 0;
  uint64_t segment_base = 0;
  uint64_t segment_bytes = 0;
};

template <typename T>
T load(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The data that all parts of the reader need.
struct Context {
  const Buffer& file;
  std::string where;
  Layout layout;
  const fb::Program* root = nullptr;

  [[nodiscard]] std::unexpected<Diagnostics> broken(std::string what, std::string got = {}) const {
    return fail({.where = where,
                 .what = std::move(what),
                 .got = std::move(got),
                 .hint = "the file is damaged or not made by ExecuTorch or Carina"});
  }
};

// The error for a file that is not a program. It names the detected file type.
std::unexpected<Diagnostics> other_file(const std::string& where, std::span<const std::byte> bytes) {
  const std::string_view identifier =
      bytes.size() < 8 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
  if (identifier == kBundledProgramIdentifier)
    return fail({.where = where,
                 .what = "a bundled program (.bpte): a program together with its test cases",
                 .hint = "`carina run` and `carina inspect` take it; here, give the .pte that it was made of"});
  if (identifier == kPtdIdentifier)
    return fail({.where = where,
                 .what = "a file of external tensors (.ptd), not a program",
                 .hint = "give the .pte, and this file to `carina run MODEL.pte --data FILE.ptd`"});
  if (identifier.starts_with("ET"))
    return fail({.where = where,
                 .what = "an ExecuTorch program of another version of the format",
                 .expected = std::string(kPteIdentifier),
                 .got = std::string(identifier),
                 .hint = "export the model again with ExecuTorch 1.0 or later"});
  return fail({.where = where, .what = "not an ExecuTorch program", .expected = "the identifier ET12"});
}

Result<Layout> read_layout(const Context& context) {
  const auto bytes = context.file.bytes();
  if (bytes.size() < 8 || std::memcmp(bytes.data() + 4, kPteIdentifier.data(), 4) != 0) {
    return other_file(context.where, bytes);
  }
  Layout layout{.program_bytes = bytes.size(), .segment_base = 0, .segment_bytes = 0};
  const bool has_header = bytes.size() >= 40 && std::memcmp(bytes.data() + 8, kPteExtendedHeaderMagic.data(), 4) == 0;
  if (!has_header) return layout;
  const auto header_bytes = load<uint32_t>(bytes, 12);
  layout.program_bytes = load<uint64_t>(bytes, 16);
  layout.segment_base = load<uint64_t>(bytes, 24);
  // Older headers have 24 bytes and no segment size. Their segments extend to the end of the file.
  layout.segment_bytes = header_bytes >= 32 ? load<uint64_t>(bytes, 32)
                                            : bytes.size() - std::min<uint64_t>(layout.segment_base, bytes.size());
  const auto end = checked_add(layout.segment_base, layout.segment_bytes);
  if (header_bytes < 24 || layout.program_bytes > bytes.size() || !end || *end > bytes.size()) {
    return context.broken("the extended header points outside the file",
                          fmt::format("program {} B, segments at {} of {} B in a file of {} B", layout.program_bytes,
                                      layout.segment_base, layout.segment_bytes, bytes.size()));
  }
  return layout;
}

Result<Buffer> segment(const Context& context, uint32_t index) {
  const auto* segments = context.root->segments();
  if (segments == nullptr || index >= segments->size())
    return context.broken("a segment index is out of range", std::to_string(index));
  const uint64_t offset = segments->Get(index)->offset();
  const uint64_t size = segments->Get(index)->size();
  if (size > 0 && context.layout.segment_base == 0)
    return context.broken("the file has segments but no extended header");
  const auto end = checked_add(offset, size);
  if (!end || *end > context.layout.segment_bytes)
    return context.broken(fmt::format("segment {} lies outside the file", index));
  return context.file.slice(context.layout.segment_base + offset, size);
}

// FlatBuffers' verifier does not check the alignment of a vector's elements.
template <typename T>
std::vector<T> copied(const flatbuffers::Vector<T>* list) {
  std::vector<T> items(list == nullptr ? 0 : list->size());
  if (!items.empty()) std::memcpy(items.data(), list->Data(), items.size() * sizeof(T));
  return items;
}

std::string text(const flatbuffers::String* string) {
  return string == nullptr ? std::string() : string->str();
}

// Returns the initial value of a mutable tensor. Source: ExecuTorch's program.fbs: the index counts in the table of
// mutable_data_segments that the tensor names, else in the first.
Result<Buffer> initial_value(const Context& context, const fb::Tensor& tensor, size_t bytes) {
  const auto* tables = context.root->mutable_data_segments();
  const auto* extra = tensor.extra_tensor_info();
  const uint64_t table = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
  if (tables == nullptr || table >= tables->size())
    return context.broken("a tensor's table of initial values is out of range", std::to_string(table));
  const auto* entries = tables->Get(static_cast<flatbuffers::uoffset_t>(table));
  const std::vector<uint64_t> offsets = copied(entries->offsets());
  if (tensor.data_buffer_idx() >= offsets.size())
    return context.broken("the index of a tensor's initial value is out of range",
                          std::to_string(tensor.data_buffer_idx()));
  CARINA_TRY(const Buffer data, segment(context, entries->segment_index()));
  const uint64_t offset = offsets[tensor.data_buffer_idx()];
  if (offset > data.size() || bytes > data.size() - offset)
    return context.broken("a tensor's initial value lies outside its segment");
  return data.slice(offset, bytes);
}

Result<TensorSpec> read_tensor(const Context& context, const fb::Tensor& tensor) {
  TensorSpec spec;
  const auto dtype = dtype_of(static_cast<PteScalarType>(tensor.scalar_type()));
  if (!dtype) return context.broken("a tensor has an unsupported element type", std::to_string(tensor.scalar_type()));
  spec.dtype = *dtype;
  const std::vector<int32_t> sizes = copied(tensor.sizes());
  if (sizes.size() > Shape::kMaxRank) return context.broken("a tensor has too many axes", std::to_string(sizes.size()));
  const std::vector<int64_t> dims(sizes.begin(), sizes.end());
  const auto elements = checked_product(dims);
  if (std::ranges::any_of(dims, [](int64_t d) { return d < 0; }) || !elements || !checked_mul(*elements, int64_t{8})) {
    return context.broken("a tensor has an impossible shape");
  }
  spec.shape = Shape(dims);
  spec.dim_order = copied(tensor.dim_order());
  std::vector<uint8_t> sorted = spec.dim_order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != dims.size() || sorted[i] != i)
      return context.broken("a tensor's dim_order is not a permutation of its axes");
  }
  if (tensor.storage_offset() != 0) return context.broken("a tensor has a storage offset");
  const auto* extra = tensor.extra_tensor_info();
  if (extra != nullptr && extra->location() == kPteExternalLocation) {
    spec.external_name = text(extra->fully_qualified_name());
    if (spec.external_name.empty()) return context.broken("a tensor outside of the program has no name");
  } else if (tensor.allocation_info() != nullptr) {  // a planned tensor's index is that of its initial value
    if (extra != nullptr) spec.state_name = text(extra->fully_qualified_name());
    if (tensor.data_buffer_idx() != 0) {
      CARINA_TRY(spec.initial, initial_value(context, tensor, tensor_bytes(spec.dtype, spec.shape)));
    }
  } else {  // an external tensor has no valid index here
    spec.constant = tensor.data_buffer_idx();
  }
  if (const auto* allocation = tensor.allocation_info()) {
    spec.allocation =
        Allocation{.memory_id = allocation->memory_id(),
                   .offset_bytes = uint64_t{allocation->memory_offset_high()} << 32 | allocation->memory_offset_low()};
  }
  return spec;
}

Result<Value> read_value(const Context& context, const fb::EValue& value) {
  if (value.val_type() != fb::KernelTypes::NONE && value.val() == nullptr)
    return context.broken("a value has a kind but no content");
  switch (value.val_type()) {
    case fb::KernelTypes::NONE:
    case fb::KernelTypes::Null:
      return None{};
    case fb::KernelTypes::Int:
      return value.val_as_Int()->int_val();
    case fb::KernelTypes::Bool:
      return value.val_as_Bool()->bool_val();
    case fb::KernelTypes::Double:
      return value.val_as_Double()->double_val();
    case fb::KernelTypes::String:
      return text(value.val_as_String()->string_val());
    case fb::KernelTypes::Tensor: {
      CARINA_TRY(TensorSpec tensor, read_tensor(context, *value.val_as_Tensor()));
      return tensor;
    }
    case fb::KernelTypes::IntList:
      return IntList{.values = copied(value.val_as_IntList()->items())};
    case fb::KernelTypes::DoubleList:
      return DoubleList{.numbers = copied(value.val_as_DoubleList()->items())};
    case fb::KernelTypes::BoolList: {
      const std::vector<uint8_t> flags = copied(value.val_as_BoolList()->items());
      return BoolList{.flags = std::vector<bool>(flags.begin(), flags.end())};
    }
    case fb::KernelTypes::TensorList:
      return TensorList{.tensors = copied(value.val_as_TensorList()->items()), .optional = false};
    case fb::KernelTypes::OptionalTensorList:
      return TensorList{.tensors = copied(value.val_as_OptionalTensorList()->items()), .optional = true};
  }
  return context.broken("a value has an unknown kind", std::to_string(static_cast<int>(value.val_type())));
}

Result<Instruction> read_instruction(const Context& context, const fb::Instruction& instruction) {
  if (instruction.instr_args() == nullptr) return context.broken("an instruction has no content");
  switch (instruction.instr_args_type()) {
    case fb::InstructionArguments::KernelCall:
      return KernelCall{.op = instruction.instr_args_as_KernelCall()->op_index(),
                        .arguments = copied(instruction.instr_args_as_KernelCall()->args())};
    case fb::InstructionArguments::DelegateCall:
      return DelegateCall{.delegate = instruction.instr_args_as_DelegateCall()->delegate_index(),
                          .arguments = copied(instruction.instr_args_as_DelegateCall()->args())};
    case fb::InstructionArguments::MoveCall:
      return MoveCall{.from = instruction.instr_args_as_MoveCall()->move_from(),
                      .to = instruction.instr_args_as_MoveCall()->move_to()};
    case fb::InstructionArguments::JumpFalseCall:
      return JumpFalseCall{.condition = instruction.instr_args_as_JumpFalseCall()->cond_value_index(),
                           .destination = instruction.instr_args_as_JumpFalseCall()->destination_instruction()};
    case fb::InstructionArguments::FreeCall:
      return FreeCall{.value = instruction.instr_args_as_FreeCall()->value_index()};
    case fb::InstructionArguments::NONE:
      break;
  }
  return context.broken("an instruction has an unknown kind",
                        std::to_string(static_cast<int>(instruction.instr_args_type())));
}

Result<Delegate> read_delegate(const Context& context, const fb::BackendDelegate& delegate) {
  Delegate result{.backend = text(delegate.id()), .blob = {}, .compile_specs = {}};
  const auto* reference = delegate.processed();
  if (reference == nullptr) return context.broken("a delegate has no data");
  if (reference->location() == 1) {
    CARINA_TRY(result.blob, segment(context, reference->index()));
  } else {
    const auto* all = context.root->backend_delegate_data();
    if (reference->location() != 0 || all == nullptr || reference->index() >= all->size())
      return context.broken("a delegate's data index is out of range");
    if (const auto* data = all->Get(reference->index())->data()) {
      const auto offset = static_cast<size_t>(reinterpret_cast<const std::byte*>(data->data()) - context.file.data());
      result.blob = context.file.slice(offset, data->size());
    }
  }
  if (delegate.compile_specs() != nullptr) {
    for (const auto* spec : *delegate.compile_specs())
      result.compile_specs.emplace_back(text(spec->key()), copied(spec->value()));
  }
  return result;
}

// Checks that every index of a plan is inside of its table, and every allocation inside of its buffer.
class PlanChecker {
 public:
  PlanChecker(const Context& context, const Plan& plan, size_t constants)
      : context_(context), plan_(plan), constants_(constants) {}

  [[nodiscard]] Result<void> check() const {
    for (const Value& value : plan_.values)
      CARINA_CHECKED(std::visit([this](const auto& v) { return check_value(v); }, value));
    CARINA_CHECKED(check_indices(plan_.inputs, "a plan input"));
    CARINA_CHECKED(check_indices(plan_.outputs, "a plan output"));
    for (const Instruction& instruction : plan_.instructions)
      CARINA_CHECKED(std::visit([this](const auto& i) { return check_instruction(i); }, instruction));
    return check_state();
  }

 private:
  // State lasts from run to run, so each one needs its own memory.
  [[nodiscard]] Result<void> check_state() const {
    std::vector<const TensorSpec*> states;
    for (const Value& value : plan_.values) {
      const auto* tensor = std::get_if<TensorSpec>(&value);
      const bool is_state = tensor != nullptr && tensor->allocation && !tensor->state_name.empty();
      if (is_state && tensor_bytes(tensor->dtype, tensor->shape) > 0) states.push_back(tensor);
    }
    const auto place_of = [](const TensorSpec* tensor) {
      return std::pair(tensor->allocation->memory_id, tensor->allocation->offset_bytes);
    };
    std::ranges::sort(states, {}, place_of);
    for (size_t i = 1; i < states.size(); ++i) {
      const TensorSpec &before = *states[i - 1], &after = *states[i];
      const bool overlaps =
          before.allocation->memory_id == after.allocation->memory_id &&
          after.allocation->offset_bytes - before.allocation->offset_bytes < tensor_bytes(before.dtype, before.shape);
      if (overlaps)
        return context_.broken(
            fmt::format("the states {} and {} have the same memory", before.state_name, after.state_name));
    }
    return {};
  }

  template <typename T>
  [[nodiscard]] Result<void> check_value(const T& /*scalar*/) const {
    return {};
  }
  [[nodiscard]] Result<void> check_value(const TensorSpec& tensor) const {
    const auto bytes = static_cast<uint64_t>(tensor.shape.elements()) * element_bytes(tensor.dtype);
    if (tensor.constant >= constants_ && tensor.constant > 0)
      return context_.broken("a tensor's constant index is out of range");
    if (!tensor.allocation) return {};
    const uint32_t id = tensor.allocation->memory_id;
    if (id < 1 || id > plan_.planned_bytes.size())
      return context_.broken("a tensor's memory id is out of range", std::to_string(id));
    const auto end = checked_add(tensor.allocation->offset_bytes, bytes);
    if (!end || *end > static_cast<uint64_t>(plan_.planned_bytes[id - 1]))
      return context_.broken("a tensor's memory lies outside its buffer");
    return {};
  }
  [[nodiscard]] Result<void> check_value(const IntList& list) const {
    for (const int64_t index : list.values) {
      const bool is_int = index >= 0 && static_cast<uint64_t>(index) < plan_.values.size() &&
                          std::holds_alternative<int64_t>(plan_.values[static_cast<size_t>(index)]);
      if (!is_int)
        return context_.broken("an integer list points to something that is not an integer", std::to_string(index));
    }
    return {};
  }
  [[nodiscard]] Result<void> check_value(const TensorList& list) const {
    for (const int32_t index : list.tensors) {
      if (list.optional && index == -1) continue;
      if (!is_tensor(index))
        return context_.broken("a tensor list points to something that is not a tensor", std::to_string(index));
    }
    return {};
  }
  [[nodiscard]] Result<void> check_instruction(const KernelCall& call) const {
    if (call.op < 0 || static_cast<size_t>(call.op) >= plan_.operators.size())
      return context_.broken("a kernel call's operator index is out of range");
    return check_indices(call.arguments, "a kernel call's argument");
  }
  [[nodiscard]] Result<void> check_instruction(const DelegateCall& call) const {
    if (call.delegate < 0 || static_cast<size_t>(call.delegate) >= plan_.delegates.size())
      return context_.broken("a delegate call's index is out of range");
    return check_indices(call.arguments, "a delegate call's argument");
  }
  [[nodiscard]] Result<void> check_instruction(const MoveCall& call) const {
    return check_indices(std::vector<int32_t>{call.from, call.to}, "a move");
  }
  [[nodiscard]] Result<void> check_instruction(const JumpFalseCall& call) const {
    if (call.destination < 0 || static_cast<size_t>(call.destination) > plan_.instructions.size())
      return context_.broken("a jump leaves the program");
    return check_indices(std::vector<int32_t>{call.condition}, "a jump's condition");
  }
  [[nodiscard]] Result<void> check_instruction(const FreeCall& call) const {
    return check_indices(std::vector<int32_t>{call.value}, "a free");
  }

  [[nodiscard]] bool is_tensor(int32_t index) const {
    return index >= 0 && static_cast<size_t>(index) < plan_.values.size() &&
           std::holds_alternative<TensorSpec>(plan_.values[static_cast<size_t>(index)]);
  }
  [[nodiscard]] Result<void> check_indices(const std::vector<int32_t>& indices, const char* what) const {
    for (const int32_t index : indices) {
      if (index < 0 || static_cast<size_t>(index) >= plan_.values.size())
        return context_.broken(fmt::format("{} is out of range", what), std::to_string(index));
    }
    return {};
  }

  const Context& context_;
  const Plan& plan_;
  size_t constants_;
};

Result<Plan> read_plan(const Context& context, const fb::ExecutionPlan& source, size_t constants) {
  Plan plan;
  plan.name = text(source.name());
  if (const auto* meta = source.container_meta_type()) {
    plan.encoded_inputs = text(meta->encoded_inp_str());
    plan.encoded_outputs = text(meta->encoded_out_str());
  }
  if (source.values() != nullptr) {
    for (const auto* value : *source.values()) {
      CARINA_TRY(Value read, read_value(context, *value));
      plan.values.push_back(std::move(read));
    }
  }
  plan.inputs = copied(source.inputs());
  plan.outputs = copied(source.outputs());
  if (source.operators() != nullptr) {
    for (const auto* op : *source.operators())
      plan.operators.push_back({.name = text(op->name()), .overload = text(op->overload())});
  }
  if (source.delegates() != nullptr) {
    for (const auto* delegate : *source.delegates()) {
      CARINA_TRY(Delegate read, read_delegate(context, *delegate));
      plan.delegates.push_back(std::move(read));
    }
  }
  if (source.chains() != nullptr && source.chains()->size() > 1)
    return context.broken("a method has several chains, which Carina does not read");
  if (source.chains() != nullptr && source.chains()->size() == 1 &&
      source.chains()->Get(0)->instructions() != nullptr) {
    for (const auto* instruction : *source.chains()->Get(0)->instructions()) {
      CARINA_TRY(Instruction read, read_instruction(context, *instruction));
      plan.instructions.push_back(std::move(read));
    }
  }
  const std::vector<int64_t> sizes = copied(source.non_const_buffer_sizes());
  if (!sizes.empty()) plan.planned_bytes.assign(sizes.begin() + 1, sizes.end());
  if (std::ranges::any_of(plan.planned_bytes, [](int64_t b) { return b < 0; }))
    return context.broken("a memory buffer has a negative size");
  CARINA_CHECKED(PlanChecker(context, plan, constants).check());
  return plan;
}

Result<std::vector<Buffer>> read_constants(const Context& context) {
  std::vector<Buffer> constants(1);
  const auto* table = context.root->constant_segment();
  const std::vector<uint64_t> offsets = table == nullptr ? std::vector<uint64_t>() : copied(table->offsets());
  if (offsets.size() <= 1) return constants;
  CARINA_TRY(const Buffer data, segment(context, table->segment_index()));
  for (const uint64_t offset : std::span(offsets).subspan(1)) {
    if (offset > data.size()) return context.broken("a constant lies outside its segment");
    constants.push_back(data.slice(offset, data.size() - offset));  // the tensor's type gives the length
  }
  return constants;
}

// Limits each constant to the length of its tensor's type.
Result<void> trim_constants(const Context& context, Program& program) {
  std::vector<size_t> bytes(program.constants.size(), 0);
  for (const Plan& plan : program.plans) {
    for (const Value& value : plan.values) {
      const auto* tensor = std::get_if<TensorSpec>(&value);
      if (tensor == nullptr || tensor->constant == 0) continue;
      const size_t needed = tensor_bytes(tensor->dtype, tensor->shape);
      if (needed > program.constants[tensor->constant].size())
        return context.broken("a constant's data is shorter than its tensor");
      bytes[tensor->constant] = std::max(bytes[tensor->constant], needed);
    }
  }
  for (size_t i = 1; i < bytes.size(); ++i) program.constants[i] = program.constants[i].slice(0, bytes[i]);
  return {};
}

}  // namespace

Result<Program> read_program(const Buffer& file, const std::string& where) {
  Context context{.file = file, .where = where, .layout = {}};
  CARINA_TRY(context.layout, read_layout(context));
  if (context.layout.program_bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return context.broken("the FlatBuffer is larger than the format allows");
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  flatbuffers::Verifier verifier(bytes, context.layout.program_bytes, 64, 10'000'000);
  if (!fb::VerifyProgramBuffer(verifier)) return context.broken("the FlatBuffer's structure is broken or cut off");
  context.root = fb::GetProgram(bytes);
  if (context.root->version() != 0) {
    return fail({.where = where,
                 .what = "unsupported program version",
                 .expected = "0",
                 .got = std::to_string(context.root->version())});
  }
  if (context.root->constant_buffer() != nullptr && context.root->constant_buffer()->size() > 0) {
    return fail({.where = where,
                 .what = "a program of an ExecuTorch before 1.0: its constants stand inside of the FlatBuffer",
                 .hint = "export the model again with ExecuTorch 1.0 or later"});
  }
  Program program;
  CARINA_TRY(program.constants, read_constants(context));
  if (context.root->execution_plan() != nullptr) {
    for (const auto* plan : *context.root->execution_plan()) {
      CARINA_TRY(Plan read, read_plan(context, *plan, program.constants.size()));
      program.plans.push_back(std::move(read));
    }
  }
  CARINA_CHECKED(trim_constants(context, program));
  return program;
}

}  // namespace carina::pte
