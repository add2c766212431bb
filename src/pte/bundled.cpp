#include "pte/bundled.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked_math.h"
#include "bundled_program_generated.h"
#include "carina/tensor.h"
#include "facts/executorch.h"
#include "pte/scalar_type.h"

namespace carina::pte {

namespace {

namespace fb = carina::bpte::schema;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr size_t kRuntimeAlignmentBytes = 16;  // alignment of a program in memory

struct Context {
  const Buffer& file;
  std::string where;

  [[nodiscard]] std::unexpected<Diagnostics> broken(std::string what, std::string got = {}) const {
    return fail({.where = where,
                 .what = std::move(what),
                 .got = std::move(got),
                 .hint = "the file is damaged or not made by ExecuTorch or Carina"});
  }
  [[nodiscard]] Buffer view(const flatbuffers::Vector<uint8_t>* bytes) const {
    if (bytes == nullptr) return {};
    const auto offset = static_cast<size_t>(bytes->Data() - reinterpret_cast<const uint8_t*>(file.data()));
    return file.slice(offset, bytes->size());
  }
};

// Copies the elements, which may be at any offset in the file.
template <typename T>
std::vector<T> copied(const flatbuffers::Vector<T>* list) {
  std::vector<T> items(list == nullptr ? 0 : list->size());
  if (!items.empty()) std::memcpy(items.data(), list->Data(), items.size() * sizeof(T));
  return items;
}

// The runtime needs aligned data, but a file may contain it at any offset. Copies it if necessary.
Buffer aligned(const Buffer& bytes) {
  const bool fits = reinterpret_cast<uintptr_t>(bytes.data()) % kRuntimeAlignmentBytes == 0;
  return fits ? bytes : Buffer::copy_of(bytes.bytes());
}

bool is_permutation_of(std::vector<uint8_t> order, size_t axes) {
  std::vector<uint8_t> plain(axes);
  std::iota(plain.begin(), plain.end(), uint8_t{0});
  std::ranges::sort(order);
  return order.empty() || order == plain;
}

Result<Shape> read_shape(const Context& context, const fb::Tensor& tensor, DType dtype) {
  const std::vector<int32_t> sizes = copied(tensor.sizes());
  if (sizes.size() > Shape::kMaxRank) return context.broken("a tensor has too many axes", std::to_string(sizes.size()));
  const std::vector<int64_t> dims(sizes.begin(), sizes.end());
  const auto elements = checked_product(dims);
  const bool possible = std::ranges::all_of(dims, [](int64_t d) { return d >= 0; }) && elements &&
                        checked_mul(*elements, static_cast<int64_t>(element_bytes(dtype)));
  if (!possible) return context.broken("a tensor has an impossible shape");
  return Shape(dims);
}

Result<BundledValue> read_tensor(const Context& context, const fb::Tensor& tensor) {
  BundledTensor read{
      .shape = {}, .dim_order = copied(tensor.dim_order()), .data = aligned(context.view(tensor.data()))};
  const auto dtype = dtype_of(static_cast<PteScalarType>(tensor.scalar_type()));
  if (!dtype) return context.broken("a tensor has an unsupported element type", std::to_string(tensor.scalar_type()));
  read.dtype = *dtype;
  CARINA_TRY(read.shape, read_shape(context, tensor, *dtype));
  if (!is_permutation_of(read.dim_order, read.shape.rank()))
    return context.broken("a tensor's dim_order is not a permutation of its axes");
  const size_t bytes = tensor_bytes(read.dtype, read.shape);
  if (read.data.size() != bytes)
    return context.broken(
        "a tensor's data does not have the size that its type says",
        fmt::format("{} bytes for {} {}", read.data.size(), name_of(read.dtype), to_string(read.shape)));
  return read;
}

Result<BundledValue> read_value(const Context& context, const fb::Value& value) {
  if (value.val() == nullptr) return context.broken("a value has no content");
  switch (value.val_type()) {
    case fb::ValueUnion::Tensor:
      return read_tensor(context, *value.val_as_Tensor());
    case fb::ValueUnion::Int:
      return value.val_as_Int()->int_val();
    case fb::ValueUnion::Bool:
      return value.val_as_Bool()->bool_val();
    case fb::ValueUnion::Double:
      return value.val_as_Double()->double_val();
    case fb::ValueUnion::NONE:
      break;
  }
  return context.broken("a value has an unknown kind", std::to_string(static_cast<int>(value.val_type())));
}

Result<std::vector<BundledValue>> read_values(const Context& context,
                                              const flatbuffers::Vector<Offset<fb::Value>>* list) {
  std::vector<BundledValue> values;
  if (list == nullptr) return values;
  for (const fb::Value* value : *list) {
    CARINA_TRY(BundledValue read, read_value(context, *value));
    values.push_back(std::move(read));
  }
  return values;
}

Result<TestSuite> read_suite(const Context& file, const fb::BundledMethodTestSuite& source) {
  TestSuite suite{.method = source.method_name() == nullptr ? "" : source.method_name()->str(), .cases = {}};
  if (source.test_cases() == nullptr) return suite;
  for (const fb::BundledMethodTestCase* test : *source.test_cases()) {
    const Context context{.file = file.file,
                          .where = fmt::format("{}: {}, test case {}", file.where, suite.method, suite.cases.size())};
    TestCase& read = suite.cases.emplace_back();
    CARINA_TRY(read.inputs, read_values(context, test->inputs()));
    CARINA_TRY(read.expected_outputs, read_values(context, test->expected_outputs()));
  }
  return suite;
}

struct Written {
  fb::ValueUnion tag;
  Offset<void> value;
};

struct ValueWriter {
  FlatBufferBuilder& builder;
  Written operator()(const BundledTensor& tensor) const {
    const auto scalar_type = scalar_type_of(tensor.dtype);
    CARINA_CHECK(scalar_type.has_value(), "{} is not an element type of .bpte", name_of(tensor.dtype));
    std::vector<int32_t> sizes;
    for (const int64_t dim : tensor.shape.dims()) sizes.push_back(static_cast<int32_t>(dim));
    std::vector<uint8_t> order = tensor.dim_order;
    if (order.empty()) {
      order.resize(sizes.size());
      std::iota(order.begin(), order.end(), uint8_t{0});
    }
    builder.ForceVectorAlignment(tensor.data.size(), 1, kRuntimeAlignmentBytes);
    const auto data = builder.CreateVector(reinterpret_cast<const uint8_t*>(tensor.data.data()), tensor.data.size());
    const auto shape = builder.CreateVector(sizes);
    const auto axes = builder.CreateVector(order);
    return {fb::ValueUnion::Tensor,
            fb::CreateTensor(builder, static_cast<int8_t>(*scalar_type), shape, data, axes).Union()};
  }
  Written operator()(int64_t v) const { return {fb::ValueUnion::Int, fb::CreateInt(builder, v).Union()}; }
  Written operator()(bool v) const { return {fb::ValueUnion::Bool, fb::CreateBool(builder, v).Union()}; }
  Written operator()(double v) const { return {fb::ValueUnion::Double, fb::CreateDouble(builder, v).Union()}; }
};

Offset<flatbuffers::Vector<Offset<fb::Value>>> write_values(FlatBufferBuilder& builder,
                                                            const std::vector<BundledValue>& values) {
  std::vector<Offset<fb::Value>> offsets;
  for (const BundledValue& value : values) {
    const Written written = std::visit(ValueWriter{builder}, value);
    offsets.push_back(fb::CreateValue(builder, written.tag, written.value));
  }
  return builder.CreateVector(offsets);
}

Offset<fb::BundledMethodTestSuite> write_suite(FlatBufferBuilder& builder, const TestSuite& suite) {
  std::vector<Offset<fb::BundledMethodTestCase>> cases;
  for (const TestCase& test : suite.cases) {
    const auto inputs = write_values(builder, test.inputs);
    const auto outputs = write_values(builder, test.expected_outputs);
    cases.push_back(fb::CreateBundledMethodTestCase(builder, inputs, outputs));
  }
  return fb::CreateBundledMethodTestSuiteDirect(builder, suite.method.c_str(), &cases);
}

size_t data_bytes(const BundledProgram& bundle) {
  size_t total = bundle.program.size();
  const auto add = [&](const BundledValue& value) {
    if (const auto* tensor = std::get_if<BundledTensor>(&value)) total += tensor->data.size();
  };
  for (const TestSuite& suite : bundle.suites) {
    for (const TestCase& test : suite.cases) {
      std::ranges::for_each(test.inputs, add);
      std::ranges::for_each(test.expected_outputs, add);
    }
  }
  return total;
}

}  // namespace

bool is_bundled_program(const Buffer& file) {
  return file.size() >= 8 &&
         std::memcmp(file.data() + 4, kBundledProgramIdentifier.data(), kBundledProgramIdentifier.size()) == 0;
}

Result<BundledProgram> read_bundled_program(const Buffer& file, const std::string& where) {
  const Context context{.file = file, .where = where};
  if (!is_bundled_program(file))
    return fail({.where = where, .what = "not a bundled program", .expected = "the identifier BP08"});
  if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return context.broken("the file is larger than the format allows");
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  flatbuffers::Verifier verifier(bytes, file.size(), 64, 10'000'000);
  if (!fb::VerifyBundledProgramBuffer(verifier))
    return context.broken("the bundled program's structure is broken or cut off");
  const fb::BundledProgram& root = *fb::GetBundledProgram(bytes);
  if (root.version() > kBundledProgramVersion)
    return fail({.where = where,
                 .what = "a bundled program of a later version of the format",
                 .expected = fmt::format("at most {}", kBundledProgramVersion),
                 .got = std::to_string(root.version())});
  BundledProgram bundle{.suites = {}, .program = aligned(context.view(root.program()))};
  if (bundle.program.size() == 0) return context.broken("the bundled program has no program");
  if (root.method_test_suites() == nullptr) return bundle;
  for (const fb::BundledMethodTestSuite* suite : *root.method_test_suites()) {
    CARINA_TRY(TestSuite read, read_suite(context, *suite));
    bundle.suites.push_back(std::move(read));
  }
  return bundle;
}

Result<std::vector<std::byte>> write_bundled_program(const BundledProgram& bundle) {
  const size_t bytes = data_bytes(bundle);
  if (bytes > (size_t{1} << 30))
    return fail({.where = "bundled program",
                 .what = "the test cases are too large for one file",
                 .expected = "at most 1 GiB",
                 .got = fmt::format("{} bytes", bytes),
                 .hint = "bundle fewer samples"});
  FlatBufferBuilder builder(bytes + (1 << 16));
  std::vector<Offset<fb::BundledMethodTestSuite>> suites;
  for (const TestSuite& suite : bundle.suites) suites.push_back(write_suite(builder, suite));
  const auto table = builder.CreateVector(suites);
  builder.ForceVectorAlignment(bundle.program.size(), 1, kBundledProgramAlignmentBytes);
  const auto program =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(bundle.program.data()), bundle.program.size());
  builder.Finish(fb::CreateBundledProgram(builder, kBundledProgramVersion, table, program),
                 kBundledProgramIdentifier.data());
  const std::span<const std::byte> file = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return std::vector<std::byte>(file.begin(), file.end());
}

}  // namespace carina::pte
