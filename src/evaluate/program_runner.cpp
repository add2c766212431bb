#include "evaluate/program_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/memory/copy_bytes.h"
#include "carina/check.h"
#include "evaluate/memory_order.h"
#include "pte/scalar_type.h"
#include "runtime/kernel.h"

namespace carina::evaluate {

namespace {

constexpr size_t kFirstArenaBytes = size_t{64} << 10;
constexpr size_t kLargestArenaBytes = size_t{1} << 30;
constexpr std::string_view kUsualMethod = "forward";
constexpr size_t kMaxPlannedBytes = size_t{2} << 30;

DType dtype_of(PteScalarType type) {
  return pte::dtype_of(type).value_or(DType::kUnknown);
}

Shape shape_of(std::span<const int32_t> sizes) {
  return Shape(std::vector<int64_t>(sizes.begin(), sizes.end()));
}

std::string hint_for_backend(std::string_view missing, std::span<runtime::Backend* const> backends) {
  if (missing == kVgfBackendId || missing == kTosaBackendId) return "`carina run` runs such delegates";
  std::string ids;
  for (const runtime::Backend* backend : backends) ids += fmt::format("{}{}", ids.empty() ? "" : ", ", backend->id());
  return fmt::format("Carina runs CPU kernels and delegates of {}: export the model for one of these", ids);
}

// Returns the hint for an error.
std::string hint_for(runtime::Error error) {
  if (error == runtime::Error::kOperatorMissing)
    return "Carina has no kernel of this name; `carina ops` lists the operators that it compiles and runs";
  if (error == runtime::Error::kDataMissing) return "give the .ptd that was written with the program: --data FILE.ptd";
  return {};
}

// Returns output `index`. `bytes` are in the layout of the program's memory.
datasets::NamedTensor output_of(size_t index, const runtime::Tensor& tensor, std::span<const std::byte> bytes) {
  return {
      .name = fmt::format("output_{}", index),
      .tensor = {
          .dtype = dtype_of(tensor.type), .shape = shape_of(tensor.sizes()), .data = from_memory_order(tensor, bytes)}};
}

// Returns whether a state's name may be that of a file. A damaged program may have any name.
bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  };
  return !name.empty() && name.size() < 200 && name.front() != '.' && std::ranges::all_of(name, plain);
}

template <typename T>
Tensor tensor_of(DType dtype, T number) {
  return {.dtype = dtype, .shape = Shape{}, .data = Buffer::copy_of(std::as_bytes(std::span(&number, 1)))};
}

// Returns a number of the program as a tensor of a sample.
Tensor tensor_of_number(const runtime::EValue& value) {
  if (value.kind == runtime::EValue::Kind::kDouble) return tensor_of(DType::kFp64, value.number);
  if (value.kind == runtime::EValue::Kind::kBool)
    return tensor_of(DType::kBool, static_cast<uint8_t>(value.boolean ? 1 : 0));
  if (value.kind == runtime::EValue::Kind::kInt) return tensor_of(DType::kInt64, value.integer);
  return {};
}

int64_t planned_apart(const runtime::Program& program) {
  size_t bytes = 0;
  for (size_t m = 0; m < program.methods(); ++m) {
    for (size_t i = 0; i < program.planned_buffers(m); ++i) bytes += program.planned_buffer_bytes(m, i);
  }
  return static_cast<int64_t>(bytes);
}

// Returns the planned bytes if buffer i of all methods shares memory.
int64_t planned_shared(const runtime::Program& program) {
  std::vector<size_t> largest;
  for (size_t m = 0; m < program.methods(); ++m) {
    largest.resize(std::max(largest.size(), program.planned_buffers(m)));
    for (size_t i = 0; i < program.planned_buffers(m); ++i)
      largest[i] = std::max(largest[i], program.planned_buffer_bytes(m, i));
  }
  return static_cast<int64_t>(std::reduce(largest.begin(), largest.end()));
}

}  // namespace

std::unexpected<Diagnostics> ProgramRunner::error(runtime::Error error, const std::string& doing) const {
  const std::string name = method_.problem().name;
  std::string what = fmt::format("{}: {}", doing, runtime::name_of(error));
  if (!name.empty()) what += fmt::format(" ({})", name);
  if (method_.problem().instruction >= 0) what += fmt::format(" at instruction {}", method_.problem().instruction);
  return fail({.where = where_,
               .what = std::move(what),
               .hint = error == runtime::Error::kBackendMissing ? hint_for_backend(name, backends_) : hint_for(error)});
}

std::unexpected<Diagnostics> ProgramRunner::pool_lacks(std::string_view pool, const runtime::Arena& arena,
                                                       const std::string& doing) const {
  return fail({.where = where_,
               .what = fmt::format("{}: out of memory: the {} pool lacks at least {} bytes", doing, pool,
                                   arena.missing_bytes()),
               .got = fmt::format("{} bytes", arena.total_bytes()),
               .hint = fmt::format("increase it with --{}-pool", pool)});
}

Result<std::unique_ptr<ProgramRunner>> ProgramRunner::load(const Buffer& file, const std::string& where,
                                                           std::span<runtime::Backend* const> backends,
                                                           std::span<const Buffer> data, RunnerKernels kernels,
                                                           const std::string& method, MemoryPools pools,
                                                           std::shared_ptr<SharedMemory> shared) {
  std::unique_ptr<ProgramRunner> runner(new ProgramRunner());
  runner->shared_ = std::move(shared);
  runner->pools_ = pools;
  runner->file_ = file;
  runner->where_ = where;
  runner->backends_.assign(backends.begin(), backends.end());
  if (kernels.kind == RunnerKernels::Kind::kHost)
    runner->host_kernels_ = std::make_unique<accelerate::HostKernels>(kernels.threads);
  if (const runtime::Error error = runner->program_.load(file.bytes()); error != runtime::Error::kOk)
    return runner->error(error, "cannot load the program");
  CARINA_CHECKED(runner->find_method(method));
  CARINA_CHECKED(runner->load_data(data));
  CARINA_CHECKED(runner->plan_memory());
  CARINA_CHECKED(runner->load_method());
  return runner;
}

Result<void> ProgramRunner::find_method(const std::string& name) {
  if (program_.methods() == 0) return fail({.where = where_, .what = "the program has no method"});
  std::string names;
  for (size_t m = 0; m < program_.methods(); ++m) {
    if (program_.method_name(m) == (name.empty() ? kUsualMethod : name)) {
      method_index_ = m;
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", program_.method_name(m));
  }
  if (name.empty()) return {};
  return fail({.where = where_, .what = "the program has no method of this name", .expected = names, .got = name});
}

Result<void> ProgramRunner::load_data(std::span<const Buffer> data) {
  data_files_.assign(data.begin(), data.end());
  for (const Buffer& file : data_files_) {
    if (const runtime::Error error = data_.emplace_back().load(file.bytes()); error != runtime::Error::kOk)
      return this->error(error, "cannot load the external tensors");
  }
  return {};
}

Result<std::span<std::byte>> ProgramRunner::planned_buffer(size_t bytes) {
  if (pools_.method_bytes == 0) {
    planned_memory_.push_back(MutableBuffer::allocate(bytes));
    return planned_memory_.back().bytes();
  }
  auto* memory = static_cast<std::byte*>(method_arena_.allocate(bytes));
  if (memory == nullptr) return pool_lacks("method", method_arena_, "cannot set up a planned buffer");
  return std::span(memory, bytes);
}

// The memory of a buffer that another method has too; as zeros, if no method has run with it. Empty: the method's own.
std::span<std::byte> ProgramRunner::shared_buffer(size_t index, size_t bytes) {
  const auto is_alike = [&](size_t method) {
    return index < program_.planned_buffers(method) && program_.planned_buffer_bytes(method, index) == bytes;
  };
  if (!shared_ || index == 0 || bytes == 0) return {};
  for (size_t m = 0; m < program_.methods(); ++m) {
    if (!is_alike(m)) return {};
  }
  shared_->buffers.resize(std::max(shared_->buffers.size(), index + 1));
  MutableBuffer& buffer = shared_->buffers[index];
  if (buffer.bytes().empty()) {
    buffer = MutableBuffer::allocate(bytes);
    std::ranges::fill(buffer.bytes(), std::byte{0});
  }
  return buffer.bytes();
}

Result<void> ProgramRunner::plan_memory() {
  if (pools_.method_bytes != 0) {
    method_memory_ = MutableBuffer::allocate(pools_.method_bytes);
    method_arena_ = runtime::Arena(method_memory_.bytes());
  }
  if (pools_.temp_bytes != 0) set_scratch(pools_.temp_bytes);
  // Pools are those of a device that runs ExecuTorch's runtime.
  if (!has_pools()) state_ = runtime::DelegateState(program_, method_index_, backends_);
  const bool stays = state_.scratch_bytes() > 0;
  if (stays) {
    delegate_memory_ = MutableBuffer::allocate(state_.scratch_bytes());
    std::ranges::fill(delegate_memory_.bytes(), std::byte{0});
  }
  size_t total = 0;
  for (size_t i = 0; i < program_.planned_buffers(method_index_); ++i) {
    const size_t bytes = stays ? state_.planned_bytes(i) : program_.planned_buffer_bytes(method_index_, i);
    total = bytes > kMaxPlannedBytes - total ? kMaxPlannedBytes + 1 : total + bytes;
    if (total > kMaxPlannedBytes)
      return fail({.where = where_,
                   .what = fmt::format("the program plans too much memory: {} bytes in buffer {}", bytes, i + 1),
                   .expected = fmt::format("at most {} bytes in all", kMaxPlannedBytes),
                   .hint = "the file may be damaged, or a tensor of the model is too large"});
    if (const std::span<std::byte> memory = shared_buffer(i, bytes); !memory.empty()) {
      planned_.push_back(memory);
      continue;
    }
    CARINA_TRY(const std::span<std::byte> memory, planned_buffer(bytes));
    planned_.push_back(memory);
    std::ranges::fill(planned_.back(), std::byte{0});  // state without an initial value starts at zero
  }
  return {};
}

runtime::Error ProgramRunner::load_into_arena() {
  const runtime::MemoryManager memory{
      .method = &method_arena_, .scratch = &scratch_arena_, .planned = planned_, .delegate = delegate_memory_.bytes()};
  return method_.load(
      program_, method_index_, memory,
      {.kernels = runtime::portable_kernels(), .backends = backends_, .data = data_, .rewriter = host_kernels_.get()});
}

Result<void> ProgramRunner::load_method() {
  if (pools_.method_bytes != 0) {
    const runtime::Error error = load_into_arena();
    if (error == runtime::Error::kOutOfMemory) return pool_lacks("method", method_arena_, "cannot load the method");
    if (error != runtime::Error::kOk) return this->error(error, "cannot load the method");
    return {};
  }
  runtime::Error error = runtime::Error::kOutOfMemory;
  for (size_t bytes = kFirstArenaBytes; error == runtime::Error::kOutOfMemory && bytes <= kLargestArenaBytes;
       bytes *= 2) {
    method_memory_ = MutableBuffer::allocate(bytes);
    method_arena_ = runtime::Arena(method_memory_.bytes());
    error = load_into_arena();
  }
  if (error != runtime::Error::kOk) return this->error(error, "cannot load the method");
  return {};
}

std::vector<datasets::InputType> ProgramRunner::inputs() const {
  std::vector<datasets::InputType> types;
  for (size_t i = 0; i < method_.inputs(); ++i) {
    const runtime::EValue& value = method_.input(i);
    datasets::InputType& type =
        types.emplace_back(datasets::InputType{.name = fmt::format("input_{}", i), .shape = {}});
    if (value.is_tensor()) {
      type.dtype = dtype_of(value.tensor.type);
      type.shape = shape_of(value.tensor.bounds());
      type.is_upper_bound = value.tensor.resizable;
    } else {
      type.number = tensor_of_number(value);
      type.dtype = type.number->dtype;
    }
  }
  return types;
}

Result<void> ProgramRunner::check_inputs(const datasets::Sample& sample) const {
  const std::vector<datasets::InputType> wanted = inputs();
  if (sample.size() != wanted.size())
    return fail({.where = where_,
                 .what = "wrong number of inputs",
                 .expected = std::to_string(wanted.size()),
                 .got = std::to_string(sample.size())});
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool fits = sample[i].shape == wanted[i].shape || datasets::is_smaller(sample[i].shape, wanted[i]);
    if (sample[i].dtype != wanted[i].dtype || !fits) {
      return fail({.where = where_,
                   .what = fmt::format("input {} does not fit", i),
                   .expected = datasets::type_text(wanted[i].dtype, wanted[i].shape),
                   .got = datasets::type_text(sample[i].dtype, sample[i].shape)});
    }
    CARINA_CHECKED(datasets::check_data(sample[i], fmt::format("{}: input {}", where_, i)));
  }
  return {};
}

Result<void> ProgramRunner::set_inputs(const datasets::Sample& sample) {
  CARINA_CHECKED(check_inputs(sample));
  const std::vector<datasets::InputType> wanted = inputs();
  aligned_inputs_.clear();
  for (size_t i = 0; i < wanted.size(); ++i) CARINA_CHECKED(set_input(i, sample[i], wanted[i]));
  return {};
}

// Sets an input. A number input cannot change, because the export made its value part of the code.
Result<void> ProgramRunner::set_input(size_t index, const Tensor& tensor, const datasets::InputType& wanted) {
  const std::span<const std::byte> bytes = tensor.data.bytes().first(tensor_bytes(tensor.dtype, tensor.shape));
  const bool same_number = wanted.number && std::ranges::equal(bytes, wanted.number->data.bytes());
  if (same_number) return {};
  const runtime::EValue& input = method_.input(index);
  if (input.is_tensor()) {
    const runtime::Error rejected = method_.resize_input(index, tensor.shape.dims());
    if (rejected != runtime::Error::kOk) return this->error(rejected, fmt::format("cannot resize input {}", index));
  }
  std::span<const std::byte> aligned = bytes;
  if (input.is_tensor() && !input.tensor.contiguous()) {
    aligned_inputs_.push_back(to_memory_order(input.tensor, bytes));
    aligned = aligned_inputs_.back().bytes();
  }
  const runtime::Error error = wanted.number ? runtime::Error::kInvalidArgument : method_.set_input(index, aligned);
  if (error != runtime::Error::kOk) return this->error(error, fmt::format("cannot set input {}", index));
  return {};
}

void ProgramRunner::set_scratch(size_t bytes) {
  scratch_memory_ = MutableBuffer::allocate(bytes);
  scratch_arena_ = runtime::Arena(scratch_memory_.bytes());
}

Result<runtime::Error> ProgramRunner::execute(const datasets::Sample& sample) {
  if (scratch_arena_.total_bytes() == 0) set_scratch(kFirstArenaBytes);
  CARINA_CHECKED(set_inputs(sample));
  runtime::Error error = method_.execute();
  if (pools_.temp_bytes != 0) {
    if (error == runtime::Error::kOutOfMemory)
      return pool_lacks("temp", scratch_arena_, fmt::format("{}", method_.problem().name));
    return error;
  }
  // A new run would call delegates twice and change the program's state twice.
  while (error == runtime::Error::kOutOfMemory && scratch_arena_.total_bytes() < kLargestArenaBytes) {
    set_scratch(2 * scratch_arena_.total_bytes());
    error = method_.resume();
  }
  return error;
}

Result<void> ProgramRunner::run_once(const datasets::Sample& sample) {
  CARINA_TRY(const runtime::Error error, execute(sample));
  if (error != runtime::Error::kOk) return this->error(error, "the program failed");
  input_bytes_ = 0;
  for (const Tensor& tensor : sample) input_bytes_ += static_cast<int64_t>(tensor.data.size());
  return {};
}

std::vector<const runtime::Tensor*> ProgramRunner::output_tensors() const {
  std::vector<const runtime::Tensor*> tensors;
  for (size_t i = 0; i < method_.outputs(); ++i) {
    if (method_.output(i).is_tensor()) tensors.push_back(&method_.output(i).tensor);
  }
  return tensors;
}

std::vector<datasets::InputType> ProgramRunner::output_types() const {
  std::vector<datasets::InputType> types;
  for (size_t i = 0; i < method_.outputs(); ++i) {
    const runtime::EValue& value = method_.output(i);
    if (value.is_tensor())
      types.push_back({.name = fmt::format("output_{}", i),
                       .dtype = dtype_of(value.tensor.type),
                       .shape = shape_of(value.tensor.sizes()),
                       .is_upper_bound = value.tensor.resizable});
  }
  return types;
}

Result<void> ProgramRunner::check_outputs(std::span<const std::span<std::byte>> outputs) const {
  const std::vector<const runtime::Tensor*> tensors = output_tensors();
  if (outputs.size() != tensors.size())
    return fail({.where = where_,
                 .what = "wrong number of outputs",
                 .expected = std::to_string(tensors.size()),
                 .got = std::to_string(outputs.size())});
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (outputs[i].size() == tensors[i]->bytes()) continue;
    return fail({.where = where_,
                 .what = fmt::format("the memory for output {} has another size", i),
                 .expected = fmt::format("{} bytes", tensors[i]->bytes()),
                 .got = fmt::format("{} bytes", outputs[i].size())});
  }
  return {};
}

Result<void> ProgramRunner::run_into(const datasets::Sample& sample, std::span<const std::span<std::byte>> outputs) {
  const std::vector<const runtime::Tensor*> tensors = output_tensors();
  // The sizes of other tensors are known only after the run.
  if (std::ranges::none_of(tensors, [](const runtime::Tensor* tensor) { return tensor->resizable; }))
    CARINA_CHECKED(check_outputs(outputs));
  CARINA_CHECKED(run_once(sample));
  CARINA_CHECKED(check_outputs(outputs));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> bytes{static_cast<const std::byte*>(tensors[i]->data), tensors[i]->bytes()};
    if (bytes.empty()) continue;
    if (tensors[i]->contiguous()) {
      std::memcpy(outputs[i].data(), bytes.data(), bytes.size());
    } else {
      copy_bytes(from_memory_order(*tensors[i], bytes).bytes(), outputs[i]);
    }
  }
  return {};
}

Result<std::vector<datasets::NamedTensor>> ProgramRunner::run(const datasets::Sample& sample) {
  CARINA_CHECKED(run_once(sample));
  std::vector<datasets::NamedTensor> outputs;
  for (size_t i = 0; i < method_.outputs(); ++i) {
    const runtime::EValue& value = method_.output(i);
    if (value.is_tensor())
      outputs.push_back(
          output_of(i, value.tensor, {static_cast<const std::byte*>(value.tensor.data), value.tensor.bytes()}));
  }
  return outputs;
}

std::vector<datasets::InputType> ProgramRunner::state_types() const {
  std::vector<datasets::InputType> types;
  const size_t count = method_.states();
  for (size_t i = 0; i < count; ++i) {
    const runtime::StateTensor state = method_.state(i);
    const bool is_new = std::ranges::find(types, state.name, &datasets::InputType::name) == types.end();
    types.push_back({.name = is_new && is_file_name(state.name) ? std::string(state.name) : fmt::format("state_{}", i),
                     .dtype = dtype_of(state.tensor->type),
                     .shape = shape_of(state.tensor->sizes())});
  }
  return types;
}

std::vector<datasets::NamedTensor> ProgramRunner::state() const {
  std::vector<datasets::NamedTensor> tensors;
  for (const datasets::InputType& type : state_types()) {
    const runtime::Tensor& tensor = *method_.state(tensors.size()).tensor;
    const std::span<const std::byte> bytes{static_cast<const std::byte*>(tensor.data), tensor.bytes()};
    tensors.push_back({.name = type.name,
                       .tensor = {.dtype = type.dtype, .shape = type.shape, .data = from_memory_order(tensor, bytes)}});
  }
  return tensors;
}

std::vector<const void*> ProgramRunner::state_places() const {
  std::vector<const void*> places;
  const size_t count = method_.states();
  for (size_t i = 0; i < count; ++i) places.push_back(method_.state(i).tensor->data);
  return places;
}

Result<std::vector<Buffer>> ProgramRunner::raw_state(std::span<const Tensor> tensors) const {
  const std::vector<datasets::InputType> types = state_types();
  if (tensors.size() != types.size())
    return fail({.where = where_,
                 .what = "wrong number of state tensors",
                 .expected = std::to_string(types.size()),
                 .got = std::to_string(tensors.size())});
  std::vector<Buffer> raw;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = fmt::format("{}: state {}", where_, types[i].name);
    if (tensors[i].dtype != types[i].dtype || tensors[i].shape != types[i].shape)
      return fail({.where = name,
                   .what = "the tensor does not fit the state",
                   .expected = datasets::type_text(types[i].dtype, types[i].shape),
                   .got = datasets::type_text(tensors[i].dtype, tensors[i].shape)});
    CARINA_CHECKED(datasets::check_data(tensors[i], name));
    raw.push_back(to_memory_order(*method_.state(i).tensor, tensors[i].data.bytes()));
  }
  return raw;
}

Result<std::vector<datasets::NamedTensor>> ProgramRunner::state_of(std::span<const Buffer> raw) const {
  std::vector<datasets::NamedTensor> tensors;
  for (const datasets::InputType& type : state_types()) {
    const size_t i = tensors.size();
    const runtime::Tensor& tensor = *method_.state(i).tensor;
    const size_t got = i < raw.size() ? raw[i].size() : 0;
    if (got != tensor.bytes())
      return fail({.where = where_,
                   .what = fmt::format("state {} is truncated", type.name),
                   .expected = fmt::format("{} bytes", tensor.bytes()),
                   .got = fmt::format("{}", got)});
    tensors.push_back(
        {.name = type.name,
         .tensor = {.dtype = type.dtype, .shape = type.shape, .data = from_memory_order(tensor, raw[i].bytes())}});
  }
  return tensors;
}

Result<void> ProgramRunner::set_state(std::span<const Tensor> tensors) {
  CARINA_TRY(const std::vector<Buffer> raw, raw_state(tensors));
  std::vector<std::byte> bytes;
  for (const Buffer& state : raw) bytes.insert(bytes.end(), state.bytes().begin(), state.bytes().end());
  const runtime::Error error = method_.restore_state(bytes);
  return error == runtime::Error::kOk ? Result<void>() : this->error(error, "cannot set the state");
}

void ProgramRunner::reset_state() {
  const runtime::Error error = method_.reset_state();
  CARINA_CHECK(error == runtime::Error::kOk, "{}: the state cannot be reset", where_);
}

Result<std::vector<Buffer>> ProgramRunner::raw_inputs(const datasets::Sample& sample) const {
  CARINA_CHECKED(check_inputs(sample));
  std::vector<Buffer> raw(sample.size());
  for (size_t i = 0; i < sample.size(); ++i) {
    const runtime::EValue& input = method_.input(i);
    if (!input.is_tensor()) continue;
    if (sample[i].data.size() < input.tensor.bytes())
      return fail({.where = where_,
                   .what = fmt::format("input {} is smaller than planned, which the firmware does not support", i),
                   .expected = fmt::format("{} bytes", input.tensor.bytes()),
                   .got = fmt::format("{}", sample[i].data.size())});
    raw[i] = to_memory_order(input.tensor, sample[i].data.bytes().first(input.tensor.bytes()));
  }
  return raw;
}

Result<std::vector<datasets::NamedTensor>> ProgramRunner::outputs_of(std::span<const Buffer> raw) const {
  std::vector<datasets::NamedTensor> outputs;
  for (size_t i = 0; i < method_.outputs(); ++i) {
    const runtime::EValue& value = method_.output(i);
    if (!value.is_tensor()) continue;
    const size_t got = i < raw.size() ? raw[i].size() : 0;
    if (got != value.tensor.bytes())
      return fail({.where = where_,
                   .what = fmt::format("output {} is truncated", i),
                   .expected = fmt::format("{} bytes", value.tensor.bytes()),
                   .got = fmt::format("{}", got)});
    outputs.push_back(output_of(i, value.tensor, raw[i].bytes()));
  }
  return outputs;
}

std::vector<std::pair<std::string, int64_t>> ProgramRunner::memory() const {
  int64_t planned = 0;
  for (const auto& buffer : planned_) planned += static_cast<int64_t>(buffer.size());
  const bool in_pool = pools_.method_bytes != 0;  // planned buffers are part of the pool
  const auto loaded = static_cast<int64_t>(method_arena_.used_bytes()) - (in_pool ? planned : 0);
  std::vector<std::pair<std::string, int64_t>> figures{
      {"model_pte_program_size", static_cast<int64_t>(program_.program_bytes())},
      {"model_pte_loaded_size", static_cast<int64_t>(program_.file_bytes())},
      {"method_allocator_used", planned + loaded + (in_pool ? 0 : input_bytes_)},
      {"method_allocator_planned", planned},
      {"method_allocator_loaded", loaded},
      {"method_allocator_input", input_bytes_},
      {"temp_allocator", static_cast<int64_t>(scratch_arena_.peak_bytes() + state_.scratch_bytes())}};
  if (method_.states() > 0) {
    figures.emplace_back("method_state", static_cast<int64_t>(method_.state_bytes()));
    figures.emplace_back("method_state_in_delegate", static_cast<int64_t>(state_.state_bytes()));
  }
  if (program_.methods() > 1) {
    figures.emplace_back("all_methods_planned_apart", planned_apart(program_));
    figures.emplace_back("all_methods_planned_shared", planned_shared(program_));
  }
  if (in_pool) figures.emplace_back("method_allocator_total", static_cast<int64_t>(method_arena_.total_bytes()));
  if (pools_.temp_bytes != 0)
    figures.emplace_back("temp_allocator_total", static_cast<int64_t>(scratch_arena_.total_bytes()));
  return figures;
}

std::vector<std::string> ProgramRunner::methods() const {
  std::vector<std::string> names;
  for (size_t m = 0; m < program_.methods(); ++m) names.emplace_back(program_.method_name(m));
  return names;
}

std::vector<std::string> ProgramRunner::kernels() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < method_.instructions(); ++i) {
    if (!method_.calls_delegate(i) && !method_.instruction_name(i).empty())
      names.emplace_back(method_.instruction_name(i));
  }
  return names;
}

int64_t ProgramRunner::delegate_calls() const {
  int64_t calls = 0;
  for (size_t i = 0; i < method_.instructions(); ++i) calls += method_.calls_delegate(i) ? 1 : 0;
  return calls;
}

}  // namespace carina::evaluate
