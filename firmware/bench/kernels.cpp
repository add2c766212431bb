// Calls kernels with fixed arguments, and prints for each call the CPU cycles and a digest of the results. In QEMU the
// cycles are those of the executed instructions (bench/kernels.py); the digests are those of the same program on a host
// (tests/integration/runtime/test_kernel_instructions.py).
#include <array>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "firmware/board/board.h"
#include "firmware/board/console.h"
#include "firmware/runner/run.h"
#include "runtime/kernel.h"

namespace carina::firmware {

namespace {

using runtime::EValue;
using runtime::Tensor;

constexpr auto kFloat = PteScalarType::kFloat;
constexpr auto kInt8 = PteScalarType::kChar;
constexpr auto kInt16 = PteScalarType::kShort;
constexpr auto kInt32 = PteScalarType::kInt;
constexpr auto kInt64 = PteScalarType::kLong;

constexpr int32_t kCount = 16'384;  // elements of most tensors
using Sizes = std::initializer_list<int32_t>;

// Memory of the arguments of one call.
alignas(16) std::array<std::byte, 400 * 1024> memory;
std::array<std::byte, 16 * 1024> scratch_memory;

// The order of the axes of a tensor in memory.
enum class Order : uint8_t { kContiguous, kChannelsLast };
constexpr std::array<uint8_t, 4> kContiguousOrder{0, 1, 2, 3};
constexpr std::array<uint8_t, 4> kChannelsLastOrder{0, 2, 3, 1};

// The values of a float tensor. kUsual: numbers in [-4, 4). kSpecial: also NaN, infinities, subnormals and large
// numbers.
enum class Values : uint8_t { kUsual, kSpecial };

// A call under construction: arguments in the order of the schema, then run().
class Call {
 public:
  Call() : arena_(memory) {}

  Call& tensor(PteScalarType type, Sizes sizes, Order order = Order::kContiguous, Values values = Values::kUsual) {
    add(EValue(make(type, sizes, order)));
    fill(values_[count_ - 1].tensor, values);
    return *this;
  }
  Call& special(Sizes sizes) { return tensor(kFloat, sizes, Order::kContiguous, Values::kSpecial); }
  Call& out(PteScalarType type, Sizes sizes, Order order = Order::kContiguous) {
    add(EValue(make(type, sizes, order)));
    outputs_[output_count_++] = count_ - 1;
    return *this;
  }
  // Adds a list of tensors.
  Call& parts(size_t count, PteScalarType type, Sizes sizes) {
    EValue** list = arena_.make_array<EValue*>(count);
    for (size_t i = 0; i < count; ++i) {
      list[i] = arena_.make_array<EValue>(1);
      *list[i] = EValue(make(type, sizes, Order::kContiguous));
      fill(list[i]->tensor, Values::kUsual);
    }
    return add(EValue(std::span<EValue* const>(list, count)));
  }
  Call& constants(std::initializer_list<int32_t> elements) {
    add(EValue(make(kInt32, {static_cast<int32_t>(elements.size())}, Order::kContiguous)));
    std::copy(elements.begin(), elements.end(), values_[count_ - 1].tensor.as<int32_t>());
    return *this;
  }
  // Adds an int32 tensor with equal elements.
  Call& repeated(int32_t size, int32_t element) {
    add(EValue(make(kInt32, {size}, Order::kContiguous)));
    std::fill_n(values_[count_ - 1].tensor.as<int32_t>(), size, element);
    return *this;
  }
  Call& integers(const std::initializer_list<int64_t>& list) {
    int64_t* copy = arena_.make_array<int64_t>(list.size());
    std::copy(list.begin(), list.end(), copy);
    return add(EValue(std::span<const int64_t>(copy, list.size())));
  }
  Call& integer(int64_t value) { return add(EValue(value)); }
  Call& number(double value) { return add(EValue(value)); }
  Call& flag(bool value) { return add(EValue(value)); }
  Call& text(const char* value) { return add(EValue(value)); }
  Call& none() { return add(EValue()); }

  // Calls the kernel and prints its name, the cycles, `work` (elements or multiply-accumulates) and the digest.
  void run(std::string_view row, std::string_view kernel, int64_t work) {
    std::array<EValue*, kMaxArguments> arguments{};
    for (size_t i = 0; i < count_; ++i) arguments[i] = &values_[i];
    runtime::Arena scratch(scratch_memory);
    const runtime::Kernel function = find(kernel);
    const uint64_t start = board_cycles();
    const runtime::Error error =
        function == nullptr ? runtime::Error::kNotSupported : function({arguments.data(), count_}, scratch);
    const uint64_t cycles = board_cycles() - start;
    Line line("row ");
    line.text(row).text(" | ").text(kernel).text(" | ").number(static_cast<int64_t>(cycles)).text(" | ").number(work);
    line.text(" | ").hex(digest()).text(" | ").number(static_cast<int64_t>(error));
  }

 private:
  static constexpr size_t kMaxArguments = 20;

  Call& add(const EValue& value) {
    values_[count_++] = value;
    return *this;
  }
  static runtime::Kernel find(std::string_view name) {
    for (const runtime::KernelEntry& entry : runtime::portable_kernels()) {
      if (entry.name == name) return entry.kernel;
    }
    return nullptr;
  }
  Tensor make(PteScalarType type, Sizes sizes, Order order) {
    int32_t* copy = arena_.make_array<int32_t>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), copy);
    const auto& axes = order == Order::kContiguous ? kContiguousOrder : kChannelsLastOrder;
    Tensor tensor(type, {copy, sizes.size()}, {axes.data(), sizes.size()}, nullptr);
    tensor.data = arena_.allocate(tensor.bytes());
    return tensor;
  }
  uint32_t random() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8;
  }
  float special_value() {
    constexpr std::array<uint32_t, 16> kBits{0x7fc00000, 0xffc00000, 0x7f800000, 0xff800000, 0x80000000, 0x00000001,
                                             0x807fffff, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4effffff,
                                             0x4b000001, 0xcb800000, 0x3f000000, 0xbfc00000};
    const uint32_t chosen = random();
    if (chosen % 4 == 0) return std::bit_cast<float>(kBits[chosen / 4 % kBits.size()]);
    if (chosen % 4 == 1) return static_cast<float>(static_cast<int32_t>(random() % 1024) - 512) * 0.125F;  // halves
    return static_cast<float>(static_cast<int32_t>(random()) - (1 << 23)) * 1.25e-4F;
  }
  void fill(const Tensor& tensor, Values values) {
    if (tensor.type == kFloat) {
      for (size_t i = 0; i < tensor.elements(); ++i)
        tensor.as<float>()[i] =
            values == Values::kSpecial ? special_value() : static_cast<float>(random()) * 0x1p-21F - 4;
      return;
    }
    for (size_t i = 0; i < tensor.bytes(); ++i) tensor.as<uint8_t>()[i] = static_cast<uint8_t>(random());
  }
  // FNV-1a over the outputs' bytes.
  [[nodiscard]] uint32_t digest() const {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < output_count_; ++i) {
      const Tensor& tensor = values_[outputs_[i]].tensor;
      for (size_t k = 0; k < tensor.bytes(); ++k) hash = (hash ^ tensor.as<uint8_t>()[k]) * 16777619U;
    }
    return hash;
  }

  runtime::Arena arena_;
  std::array<EValue, kMaxArguments> values_;
  size_t count_ = 0;
  std::array<size_t, 4> outputs_{};
  size_t output_count_ = 0;
  uint32_t state_ = 1;
};

constexpr const char* kQuantize = "quantized_decomposed::quantize_per_tensor.out";
constexpr const char* kDequantize = "quantized_decomposed::dequantize_per_tensor.out";

void quantize_rows() {
  struct Range {
    PteScalarType type;
    int64_t low, high;
    std::string_view name;
  };
  constexpr std::array kRanges{Range{.type = kInt8, .low = -128, .high = 127, .name = "int8"},
                               Range{.type = PteScalarType::kByte, .low = 0, .high = 255, .name = "uint8"},
                               Range{.type = kInt16, .low = -32768, .high = 32767, .name = "int16"},
                               Range{.type = kInt32, .low = -8'388'608, .high = 8'388'607, .name = "int32"}};
  for (const Range& range : kRanges) {
    const auto type = static_cast<int64_t>(range.type);
    for (const double scale : {0.0157, 0.125, 3.1}) {
      Call()
          .special({kCount - 5})
          .number(scale)
          .integer(3)
          .integer(range.low)
          .integer(range.high)
          .integer(type)
          .out(range.type, {kCount - 5})
          .run(range.name, kQuantize, kCount - 5);
    }
    if (range.type == kInt32) continue;
    Call()
        .tensor(range.type, {kCount - 5})
        .number(0.0157)
        .integer(3)
        .integer(range.low)
        .integer(range.high)
        .integer(type)
        .none()
        .out(kFloat, {kCount - 5})
        .run(range.name, kDequantize, kCount - 5);
  }
  for (const auto& [rows, columns] : {std::pair(128, 128), std::pair(16, 9)}) {
    for (const int64_t axis : {0, 1}) {
      const int32_t channels = axis == 0 ? rows : columns;
      const int64_t work = int64_t{rows} * columns;
      Call()
          .special({rows, columns})
          .tensor(kFloat, {channels})
          .repeated(channels, 3)
          .integer(axis)
          .integer(-128)
          .integer(127)
          .integer(1)
          .out(kInt8, {rows, columns})
          .run(axis == 0 ? "channels first" : "channels last", "quantized_decomposed::quantize_per_channel.out", work);
      Call()
          .tensor(kInt8, {rows, columns})
          .tensor(kFloat, {channels})
          .repeated(channels, 3)
          .integer(axis)
          .integer(-128)
          .integer(127)
          .integer(1)
          .none()
          .out(kFloat, {rows, columns})
          .run(axis == 0 ? "channels first" : "channels last", "quantized_decomposed::dequantize_per_channel.out",
               work);
    }
  }
}

void arithmetic_rows() {
  for (const char* kernel : {"aten::add.out", "aten::sub.out"}) {
    for (const int64_t alpha : {1, 3}) {
      Call()
          .tensor(kFloat, {128, 128})
          .tensor(kFloat, {128, 128})
          .integer(alpha)
          .out(kFloat, {128, 128})
          .run(alpha == 1 ? "same shape" : "same shape, alpha 3", kernel, kCount);
      Call()
          .tensor(kFloat, {128, 128})
          .tensor(kFloat, {128})
          .integer(alpha)
          .out(kFloat, {128, 128})
          .run(alpha == 1 ? "last axis" : "last axis, alpha 3", kernel, kCount);
    }
    Call()
        .tensor(kFloat, {128, 128})
        .tensor(kFloat, {128, 1})
        .integer(1)
        .out(kFloat, {128, 128})
        .run("column", kernel, kCount);
    Call()
        .tensor(kFloat, {128, 128})
        .tensor(kFloat, {})
        .integer(1)
        .out(kFloat, {128, 128})
        .run("scalar", kernel, kCount);
  }
  for (const char* kernel : {"aten::mul.out", "aten::div.out", "aten::maximum.out"}) {
    Call()
        .tensor(kFloat, {128, 128})
        .tensor(kFloat, {128, 128})
        .out(kFloat, {128, 128})
        .run("same shape", kernel, kCount);
    Call().tensor(kFloat, {128, 128}).tensor(kFloat, {128}).out(kFloat, {128, 128}).run("last axis", kernel, kCount);
    Call().tensor(kFloat, {128, 1}).tensor(kFloat, {128, 128}).out(kFloat, {128, 128}).run("column", kernel, kCount);
    Call()
        .tensor(kFloat, {1, 16, 1, 1})
        .tensor(kFloat, {1, 16, 32, 32}, Order::kChannelsLast)
        .out(kFloat, {1, 16, 32, 32}, Order::kChannelsLast)
        .run("channels last", kernel, kCount);
  }
  Call().tensor(kFloat, {kCount}).number(0.5).out(kFloat, {kCount}).run("scalar", "aten::mul.Scalar_out", kCount);
  Call()
      .tensor(kInt32, {64, 64})
      .tensor(kInt32, {64})
      .integer(1)
      .out(kInt32, {64, 64})
      .run("int32, last axis", "aten::add.out", 4096);
}

void unary_rows() {
  Call().tensor(kFloat, {kCount}).out(kFloat, {kCount}).run("", "aten::relu.out", kCount);
  Call().tensor(kFloat, {kCount}).number(-1).number(1.5).out(kFloat, {kCount}).run("", "aten::clamp.out", kCount);
  Call().tensor(kFloat, {kCount}).number(-1).number(1.5).out(kFloat, {kCount}).run("", "aten::hardtanh.out", kCount);
  Call().special({kCount - 1}).out(kFloat, {kCount - 1}).run("special", "aten::relu.out", kCount - 1);
  Call()
      .special({kCount - 1})
      .number(1)
      .number(-1.5)
      .out(kFloat, {kCount - 1})
      .run("special", "aten::clamp.out", kCount - 1);
  Call().tensor(kFloat, {kCount}).out(kFloat, {kCount}).run("", "aten::neg.out", kCount);
  for (const char* kernel : {"aten::sigmoid.out", "aten::tanh.out", "aten::exp.out"})
    Call().tensor(kFloat, {kCount}).out(kFloat, {kCount}).run("", kernel, kCount);
  for (const char* kind : {"none", "tanh"})
    Call().tensor(kFloat, {kCount}).text(kind).out(kFloat, {kCount}).run(kind, "aten::gelu.out", kCount);
}

void reduction_rows() {
  Call()
      .tensor(kFloat, {128, 128})
      .integer(-1)
      .flag(false)
      .out(kFloat, {128, 128})
      .run("last axis", "aten::_softmax.out", kCount);
  Call()
      .tensor(kFloat, {128, 128})
      .integer(0)
      .flag(false)
      .out(kFloat, {128, 128})
      .run("first axis", "aten::_softmax.out", kCount);
  Call()
      .tensor(kFloat, {128, 128})
      .integers({128})
      .tensor(kFloat, {128})
      .tensor(kFloat, {128})
      .number(1e-5)
      .out(kFloat, {128, 128})
      .out(kFloat, {128, 1})
      .out(kFloat, {128, 1})
      .run("last axis", "aten::native_layer_norm.out", kCount);
  Call()
      .tensor(kFloat, {1, 16, 32, 32})
      .integers({2, 3})
      .flag(true)
      .none()
      .out(kFloat, {1, 16, 1, 1})
      .run("over (2,3)", "aten::mean.out", kCount);
  Call()
      .tensor(kFloat, {1, 16, 32, 32}, Order::kChannelsLast)
      .integers({2, 3})
      .flag(true)
      .none()
      .out(kFloat, {1, 16, 1, 1})
      .run("over (2,3), channels last", "aten::mean.out", kCount);
  Call()
      .tensor(kFloat, {128, 128})
      .integers({1})
      .flag(true)
      .none()
      .out(kFloat, {128, 1})
      .run("last axis", "aten::sum.IntList_out", kCount);
  Call()
      .tensor(kFloat, {128, 128})
      .integers({0})
      .flag(true)
      .none()
      .out(kFloat, {1, 128})
      .run("first axis", "aten::sum.IntList_out", kCount);
  Call()
      .tensor(kFloat, {128, 128})
      .integers({1})
      .flag(true)
      .out(kFloat, {128, 1})
      .run("last axis", "aten::amax.out", kCount);
}

void layout_rows() {
  Call()
      .tensor(kFloat, {1, 16, 32, 32})
      .integers({0, 2, 3, 1})
      .out(kFloat, {1, 32, 32, 16})
      .run("f32, 0231", "aten::permute_copy.out", kCount);
  Call().tensor(kFloat, {128, 128}).integers({kCount}).out(kFloat, {kCount}).run("f32", "aten::view_copy.out", kCount);
  Call()
      .tensor(kInt8, {1, 16, 32, 32})
      .integers({0, 2, 3, 1})
      .out(kInt8, {1, 32, 32, 16})
      .run("int8, 0231", "aten::permute_copy.out", kCount);
  Call()
      .tensor(kFloat, {16, 32, 32})
      .integers({1, 0, 2})
      .out(kFloat, {32, 16, 32})
      .run("f32, 102", "aten::permute_copy.out", kCount);
  Call()
      .tensor(kFloat, {1, 16, 32, 32})
      .flag(false)
      .integers({0, 2, 3, 1})
      .out(kFloat, {1, 16, 32, 32}, Order::kChannelsLast)
      .run("to channels last", "dim_order_ops::_to_dim_order_copy.out", kCount);
  Call()
      .parts(2, kFloat, {1, 8, 32, 32})
      .integer(1)
      .out(kFloat, {1, 16, 32, 32})
      .run("axis 1", "aten::cat.out", kCount);
  Call().parts(2, kFloat, {1024, 8}).integer(1).out(kFloat, {1024, 16}).run("last axis", "aten::cat.out", kCount);
  Call()
      .tensor(kFloat, {128, 256})
      .integer(1)
      .integer(0)
      .integer(256)
      .integer(2)
      .out(kFloat, {128, 128})
      .run("step 2", "aten::slice_copy.Tensor_out", kCount);
  Call()
      .tensor(kFloat, {128, 136})
      .integer(1)
      .integer(4)
      .integer(132)
      .integer(1)
      .out(kFloat, {128, 128})
      .run("last axis", "aten::slice_copy.Tensor_out", kCount);
  Call()
      .tensor(kFloat, {1, 16, 30, 30})
      .integers({1, 1, 1, 1})
      .number(0)
      .out(kFloat, {1, 16, 32, 32})
      .run("1 around", "aten::constant_pad_nd.out", kCount);
}

void float_window_rows() {
  Call()
      .tensor(kFloat, {1, 16, 32, 32})
      .integers({2, 2})
      .integers({2, 2})
      .integers({0, 0})
      .flag(false)
      .flag(true)
      .none()
      .out(kFloat, {1, 16, 16, 16})
      .run("2x2", "aten::avg_pool2d.out", 4096);
  Call()
      .tensor(kFloat, {1, 16, 32, 32})
      .integers({2, 2})
      .integers({2, 2})
      .integers({0, 0})
      .integers({1, 1})
      .flag(false)
      .out(kFloat, {1, 16, 16, 16})
      .out(kInt64, {1, 16, 16, 16})
      .run("2x2", "aten::max_pool2d_with_indices.out", 4096);
  Call()
      .special({1, 16, 32, 32})
      .integers({3, 3})
      .integers({2, 2})
      .integers({1, 1})
      .integers({1, 1})
      .flag(false)
      .out(kFloat, {1, 16, 16, 16})
      .out(kInt64, {1, 16, 16, 16})
      .run("3x3, special", "aten::max_pool2d_with_indices.out", 4096);
  Call()
      .tensor(kFloat, {1, 512, 7, 7}, Order::kChannelsLast)
      .integers({7, 7})
      .integers({1, 1})
      .integers({0, 0})
      .flag(false)
      .flag(true)
      .none()
      .out(kFloat, {1, 512, 1, 1}, Order::kChannelsLast)
      .run("7x7, channels last", "aten::avg_pool2d.out", 512);
  Call()
      .tensor(kFloat, {1, 8, 16, 16})
      .tensor(kFloat, {8, 8, 3, 3})
      .tensor(kFloat, {8})
      .integers({1, 1})
      .integers({1, 1})
      .integers({1, 1})
      .flag(false)
      .integers({0, 0})
      .integer(1)
      .out(kFloat, {1, 8, 16, 16})
      .run("3x3x8", "aten::convolution.out", 8 * 8 * 9 * 256);
  Call()
      .tensor(kFloat, {1, 32, 8, 8}, Order::kChannelsLast)
      .tensor(kFloat, {32, 32, 1, 1})
      .tensor(kFloat, {32})
      .integers({1, 1})
      .integers({0, 0})
      .integers({1, 1})
      .flag(false)
      .integers({0, 0})
      .integer(1)
      .out(kFloat, {1, 32, 8, 8}, Order::kChannelsLast)
      .run("1x1x32, channels last", "aten::convolution.out", 32 * 32 * 64);
  Call()
      .tensor(kFloat, {64, 64})
      .tensor(kFloat, {64, 64})
      .tensor(kFloat, {64})
      .out(kFloat, {64, 64})
      .run("64x64x64", "aten::linear.out", 64 * 64 * 64);
  Call()
      .tensor(kFloat, {64})
      .tensor(kFloat, {64, 64})
      .tensor(kFloat, {64, 64})
      .integer(1)
      .integer(1)
      .out(kFloat, {64, 64})
      .run("64x64x64", "aten::addmm.out", 64 * 64 * 64);
  Call()
      .tensor(kFloat, {4, 32, 32})
      .tensor(kFloat, {4, 32, 32})
      .out(kFloat, {4, 32, 32})
      .run("32x32x32", "aten::bmm.out", 4 * 32 * 32 * 32);
}

constexpr int64_t kMultiplier = 1'518'500'250;

void int8_elementwise_rows() {
  for (const PteScalarType type : {kInt8, kInt16}) {
    const int64_t low = type == kInt8 ? -128 : -32768, high = type == kInt8 ? 127 : 32767;
    const std::string_view row = type == kInt8 ? "int8" : "int16";
    const int32_t count = type == kInt8 ? kCount - 3 : 4093;
    for (const auto& [shift, other_shift] : {std::pair(-1, 0), std::pair(0, -2), std::pair(-1, -2)}) {
      Call()
          .tensor(type, {count})
          .integer(5)
          .integer(kMultiplier)
          .integer(shift)
          .tensor(type, {count})
          .integer(-128)
          .integer(kMultiplier / 2 + 7)
          .integer(other_shift)
          .integer(-3)
          .integer(kMultiplier)
          .integer(type == kInt8 ? -19 : -21)
          .integer(low)
          .integer(high)
          .out(type, {count})
          .run(shift != 0 && other_shift != 0 ? "two shifts" : row, "cortex_m::quantized_add.out", count);
    }
    Call()
        .tensor(type, {count})
        .integer(5)
        .tensor(type, {count})
        .integer(-128)
        .integer(-3)
        .integer(kMultiplier)
        .integer(type == kInt8 ? -6 : -14)
        .out(type, {count})
        .run(row, "cortex_m::quantized_mul.out", count);
  }
  Call()
      .tensor(kInt8, {128, 128})
      .integer(5)
      .tensor(kInt8, {128})
      .integer(-128)
      .integer(-3)
      .integer(kMultiplier)
      .integer(-6)
      .out(kInt8, {128, 128})
      .run("int8, last axis", "cortex_m::quantized_mul.out", kCount);
  Call()
      .tensor(kInt8, {kCount})
      .integer(5)
      .tensor(kInt8, {kCount})
      .integer(-128)
      .integer(-3)
      .integer(kMultiplier)
      .integer(2)
      .out(kInt8, {kCount})
      .run("int8, left shift", "cortex_m::quantized_mul.out", kCount);
  Call()
      .tensor(kInt8, {kCount})
      .tensor(kInt8, {256})
      .out(kInt8, {kCount})
      .run("int8", "cortex_m::quantized_activation.out", kCount);
}

void int8_product_rows() {
  for (const int64_t offset : {0, 7}) {
    Call()
        .tensor(kInt8, {4, 32, 32})
        .integer(128)
        .tensor(kInt8, {4, 32, 32})
        .integer(offset)
        .integer(-3)
        .integer(kMultiplier)
        .integer(-9)
        .tensor(kInt8, {1})
        .out(kInt8, {4, 32, 32})
        .run(offset == 0 ? "32x32x32" : "32x32x32, two offsets", "cortex_m::quantized_batch_matmul.out",
             4 * 32 * 32 * 32);
  }
  Call()
      .tensor(kInt8, {1, 32, 60})
      .integer(128)
      .tensor(kInt8, {1, 33, 60})
      .integer(7)
      .integer(-3)
      .integer(kMultiplier)
      .integer(-9)
      .tensor(kInt8, {1})
      .out(kInt8, {1, 32, 33})
      .run("32x33x60, two offsets", "cortex_m::quantized_batch_matmul.out", 32 * 33 * 60);
  Call()
      .tensor(kInt8, {16, 256})
      .tensor(kInt8, {64, 256})
      .repeated(64, 1000)
      .none()
      .integer(128)
      .integer(0)
      .integer(-3)
      .integers({kMultiplier})
      .integers({-10})
      .integer(127)
      .integer(-128)
      .out(kInt8, {16, 64})
      .run("256 to 64", "cortex_m::quantized_linear.out", 16 * 256 * 64);
  Call()
      .tensor(kInt8, {16, 75})
      .tensor(kInt8, {33, 75})
      .none()
      .repeated(33, 1000)
      .integer(128)
      .integer(0)
      .integer(-3)
      .integers({kMultiplier})
      .integers({-10})
      .integer(127)
      .integer(-128)
      .out(kInt8, {16, 33})
      .run("75 to 33, with sums", "cortex_m::quantized_linear.out", 16 * 75 * 33);
}

void int8_window_rows() {
  struct Shape {
    std::string_view name;
    int32_t size, channels, filters, kernel;
    int64_t padding, stride;
  };
  constexpr std::array kShapes{
      Shape{.name = "3x3x16", .size = 16, .channels = 16, .filters = 16, .kernel = 3, .padding = 1, .stride = 1},
      Shape{.name = "1x1x64", .size = 8, .channels = 64, .filters = 64, .kernel = 1, .padding = 0, .stride = 1},
      Shape{
          .name = "3x3x3, stride 2", .size = 17, .channels = 3, .filters = 9, .kernel = 3, .padding = 1, .stride = 2}};
  for (const Shape& s : kShapes) {
    const auto out = static_cast<int32_t>((s.size + 2 * s.padding - s.kernel) / s.stride + 1);
    Call()
        .tensor(kInt8, {1, s.size, s.size, s.channels})
        .tensor(kInt8, {s.filters, s.kernel, s.kernel, s.channels})
        .repeated(s.filters, 500)
        .integers({s.stride, s.stride})
        .integers({s.padding, s.padding})
        .integers({1, 1})
        .integer(128)
        .integer(-3)
        .repeated(s.filters, kMultiplier)
        .repeated(s.filters, -9)
        .integer(-128)
        .integer(127)
        .tensor(kInt8, {4 * ((s.kernel * s.kernel * s.channels + 7) / 8 * 8)})  // the size of CMSIS-NN
        .out(kInt8, {1, out, out, s.filters})
        .run(s.name, "cortex_m::quantized_conv2d_nhwc.out",
             int64_t{out} * out * s.filters * s.kernel * s.kernel * s.channels);
  }
  Call()
      .tensor(kInt8, {1, 16, 16, 64})
      .tensor(kInt8, {1, 3, 3, 64})
      .repeated(64, 500)
      .integers({1, 1})
      .integers({1, 1})
      .integers({1, 1})
      .integer(1)
      .integer(128)
      .integer(-3)
      .repeated(64, kMultiplier)
      .repeated(64, -7)
      .integer(-128)
      .integer(127)
      .tensor(kInt8, {1})
      .out(kInt8, {1, 16, 16, 64})
      .run("3x3, 64 channels", "cortex_m::quantized_depthwise_conv2d_nhwc.out", 256 * 64 * 9);
  Call()
      .tensor(kInt8, {1, 16, 16, 64})
      .integers({2, 2})
      .integers({2, 2})
      .integers({0, 0})
      .integers({1, 1})
      .flag(false)
      .integer(0)
      .integer(0)
      .integer(-128)
      .integer(127)
      .out(kInt8, {1, 8, 8, 64})
      .run("2x2", "cortex_m::quantized_max_pool2d_nhwc.out", 4096);
}

}  // namespace

int run() {
  quantize_rows();
  arithmetic_rows();
  unary_rows();
  reduction_rows();
  layout_rows();
  float_window_rows();
  int8_elementwise_rows();
  int8_product_rows();
  int8_window_rows();
  return 0;
}

}  // namespace carina::firmware
