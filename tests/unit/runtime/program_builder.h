#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carina/buffer.h"
#include "pte/program.h"
#include "pte/writer.h"
#include "runtime/method.h"

namespace carina::runtime {

// Builds small programs for tests. All tensors are planned one after another in one buffer.
class ProgramBuilder {
 public:
  ProgramBuilder() {
    program.constants.resize(1);
    program.plans.resize(1);
  }

  pte::Plan& plan() { return program.plans.front(); }

  int32_t value(pte::Value v) {
    plan().values.push_back(std::move(v));
    return static_cast<int32_t>(plan().values.size() - 1);
  }

  // A tensor in planned memory.
  int32_t tensor(const Shape& shape, DType dtype = DType::kFp32) {
    const auto bytes =
        static_cast<int64_t>(static_cast<size_t>(shape.elements()) * element_bytes(dtype) + 15) / 16 * 16;
    if (plan().planned_bytes.empty()) plan().planned_bytes.push_back(0);
    const auto offset = static_cast<uint64_t>(plan().planned_bytes[0]);
    plan().planned_bytes[0] += bytes;
    return value(pte::TensorSpec{.dtype = dtype,
                                 .shape = shape,
                                 .dim_order = {},
                                 .constant = 0,
                                 .allocation = pte::Allocation{.memory_id = 1, .offset_bytes = offset}});
  }

  template <typename T>
  int32_t constant(const Shape& shape, DType dtype, const std::vector<T>& elements) {
    program.constants.push_back(Buffer::copy_of(std::as_bytes(std::span(elements))));
    return value(pte::TensorSpec{.dtype = dtype,
                                 .shape = shape,
                                 .dim_order = {},
                                 .constant = static_cast<uint32_t>(program.constants.size() - 1),
                                 .allocation = {}});
  }

  int32_t int_list(const std::vector<int64_t>& numbers) {
    pte::IntList list;
    for (const int64_t number : numbers) {
      list.values.push_back(static_cast<int64_t>(plan().values.size()));
      plan().values.emplace_back(number);  // constructed in place: GCC 12 warns of a moved number's unused vectors
    }
    return value(std::move(list));
  }

  void call(const std::string& name, const std::string& overload, std::vector<int32_t> arguments) {
    plan().operators.push_back({.name = name, .overload = overload});
    plan().instructions.emplace_back(
        pte::KernelCall{.op = static_cast<int32_t>(plan().operators.size() - 1), .arguments = std::move(arguments)});
  }

  [[nodiscard]] Buffer write(pte::DelegateData data = pte::DelegateData::kInline) const {
    const auto bytes = pte::write_program(program, {.delegate_data = data});
    return Buffer::copy_of(bytes.value());
  }

  pte::Program program;
};

// x -> relu(x + 1): a program with a constant, two kernels and planned memory.
inline ProgramBuilder small_program() {
  ProgramBuilder builder;
  const int32_t x = builder.tensor({2, 3});
  const int32_t one = builder.constant<float>({1}, DType::kFp32, {1.0F});
  const int32_t sum = builder.tensor({2, 3});
  const int32_t out = builder.tensor({2, 3});
  const int32_t alpha = builder.value(int64_t{1});
  builder.plan().inputs = {x};
  builder.plan().outputs = {out};
  builder.call("aten::add", "out", {x, one, alpha, sum, sum});
  builder.call("aten::relu", "out", {sum, out, out});
  return builder;
}

// A loaded program with all the memory that it needs.
class Session {
 public:
  static constexpr size_t kPlenty = 1 << 16;

  explicit Session(Buffer file, std::span<Backend* const> backends = {}, size_t method_bytes = kPlenty,
                   size_t scratch_bytes = kPlenty)
      : file_(std::move(file)),
        backends_(backends),
        method_memory_(MutableBuffer::allocate(method_bytes)),
        scratch_memory_(MutableBuffer::allocate(scratch_bytes)) {}

  Error load() {
    CARINA_RT_TRY(prepare());
    return load_method();
  }

  // The steps before the method is loaded: the program, its planned memory, the arenas.
  Error prepare() {
    CARINA_RT_TRY(program.load(file_.bytes()));
    if (program.methods() == 0) return Error::kInvalidProgram;
    constexpr size_t kMaxPlanned = 1 << 20;  // the limit of a test for a hostile file
    for (size_t i = 0; i < program.planned_buffers(0); ++i) {
      if (program.planned_buffer_bytes(0, i) > kMaxPlanned) return Error::kOutOfMemory;
      planned_memory_.push_back(MutableBuffer::allocate(program.planned_buffer_bytes(0, i)));
      std::ranges::fill(planned_memory_.back().bytes(), std::byte{0});
    }
    for (MutableBuffer& buffer : planned_memory_) planned_.push_back(buffer.bytes());
    method_arena = Arena(method_memory_.bytes());
    scratch_arena = Arena(scratch_memory_.bytes());
    return Error::kOk;
  }

  Error load_method(Rewriter* rewriter = nullptr) {
    return method.load(program, 0, {.method = &method_arena, .scratch = &scratch_arena, .planned = planned_},
                       {.kernels = portable_kernels(), .backends = backends_, .data = data, .rewriter = rewriter});
  }

  template <typename T>
  Error run(const std::vector<T>& input) {
    CARINA_RT_TRY(method.set_input(0, std::as_bytes(std::span(input))));
    return method.execute();
  }

  template <typename T>
  std::vector<T> output(size_t index = 0) {
    const Tensor& tensor = method.output(index).tensor;
    return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
  }

  Program program;
  Method method;
  Arena method_arena;
  Arena scratch_arena;
  std::span<const NamedData> data;  // the external tensors of load()

 private:
  Buffer file_;
  std::span<Backend* const> backends_;
  MutableBuffer method_memory_;
  MutableBuffer scratch_memory_;
  std::vector<MutableBuffer> planned_memory_;
  std::vector<std::span<std::byte>> planned_;
};

}  // namespace carina::runtime
