// Tests tensors outside the program, in a .ptd file.
#include "runtime/named_data.h"

#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <cstring>

#include "flat_tensor_generated.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

namespace ptd = carina::ptd::schema;

struct Named {
  std::string name = "w";
  std::vector<int32_t> sizes{3};
  std::vector<uint8_t> dim_order{0};
  std::vector<float> elements{1, 2, 3};
  PteScalarType type = PteScalarType::kFloat;
  bool is_tensor = true;
};

template <typename T>
void put(std::vector<std::byte>& out, size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

// The file as ExecuTorch lays it out: identifier, header padded to 48 bytes, FlatBuffer, segments.
std::vector<std::byte> write_ptd(const Named& named) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector segments{ptd::CreateDataSegment(builder, 0, named.elements.size() * sizeof(float))};
  flatbuffers::Offset<ptd::TensorLayout> layout;
  if (named.is_tensor)
    layout = ptd::CreateTensorLayoutDirect(builder, static_cast<int8_t>(named.type), &named.sizes, &named.dim_order);
  const std::vector entries{ptd::CreateNamedDataDirect(builder, named.name.c_str(), 0, layout)};
  builder.Finish(ptd::CreateFlatTensorDirect(builder, 0, &segments, &entries), kPtdIdentifier.data());
  constexpr size_t kHeader = 48;
  const size_t flatbuffer = builder.GetSize();
  const size_t base = (flatbuffer + kHeader + 127) / 128 * 128;
  std::vector<std::byte> file(base + named.elements.size() * sizeof(float));
  std::memcpy(file.data() + kHeader, builder.GetBufferPointer(), flatbuffer);
  std::memcpy(file.data(), builder.GetBufferPointer(), 8);
  put(file, 0, static_cast<uint32_t>(flatbuffers::ReadScalar<uint32_t>(builder.GetBufferPointer()) + kHeader));
  std::memcpy(file.data() + 8, kPtdHeaderMagic.data(), 4);
  put(file, 12, kPtdHeaderBytes);
  put(file, 16, uint64_t{kHeader});
  put(file, 24, uint64_t{flatbuffer});
  put(file, 32, uint64_t{base});
  put(file, 40, uint64_t{named.elements.size() * sizeof(float)});
  std::memcpy(file.data() + base, named.elements.data(), named.elements.size() * sizeof(float));
  return file;
}

// A program x -> x + w, where w is an external tensor.
ProgramBuilder program_with_external(bool planned = false) {
  ProgramBuilder builder;
  const int32_t x = builder.tensor({3});
  const int32_t w =
      planned ? builder.tensor({3})
              : builder.value(pte::TensorSpec{.dtype = DType::kFp32, .shape = {3}, .dim_order = {}, .allocation = {}});
  std::get<pte::TensorSpec>(builder.plan().values[static_cast<size_t>(w)]).external_name = "w";
  const int32_t out = builder.tensor({3});
  const int32_t alpha = builder.value(int64_t{1});
  builder.plan().inputs = {x};
  builder.plan().outputs = {out};
  builder.call("aten::add", "out", {x, w, alpha, out, out});
  return builder;
}

Error run_with(const Named& named, std::vector<float>& output, bool planned = false) {
  const Buffer file = Buffer::copy_of(write_ptd(named));
  NamedData data;
  CARINA_RT_TRY(data.load(file.bytes()));
  Session session(program_with_external(planned).write());
  session.data = {&data, 1};
  CARINA_RT_TRY(session.load());
  CARINA_RT_TRY(session.run<float>({10, 20, 30}));
  output = session.output<float>();
  return Error::kOk;
}

TEST(NamedData, program_gets_its_tensors) {
  for (const bool planned : {false, true}) {
    std::vector<float> output;
    ASSERT_EQ(run_with({}, output, planned), Error::kOk);
    EXPECT_EQ(output, (std::vector<float>{11, 22, 33}));
  }
}

TEST(NamedData, missing_data_is_named) {
  Session session(program_with_external().write());
  EXPECT_EQ(session.load(), Error::kDataMissing);
  EXPECT_STREQ(session.method.problem().name, "w");
  std::vector<float> output;
  EXPECT_EQ(run_with({.name = "v"}, output), Error::kDataMissing);
}

TEST(NamedData, other_type_or_shape_is_an_error) {
  std::vector<float> output;
  EXPECT_EQ(run_with({.sizes = {1, 3}, .dim_order = {0, 1}}, output), Error::kInvalidArgument);
  EXPECT_EQ(run_with({.type = PteScalarType::kInt}, output), Error::kInvalidArgument);
  EXPECT_EQ(run_with({.elements = {1, 2}}, output), Error::kInvalidArgument);
  EXPECT_EQ(run_with({.is_tensor = false}, output), Error::kInvalidArgument);
}

TEST(NamedData, entries_are_listed) {
  const Buffer file = Buffer::copy_of(write_ptd({}));
  NamedData data;
  EXPECT_EQ(data.entries(), 0U);
  ASSERT_EQ(data.load(file.bytes()), Error::kOk);
  ASSERT_EQ(data.entries(), 1U);
  EXPECT_EQ(data.entry(0).name, "w");
  EXPECT_EQ(data.entry(0).bytes.size(), 12U);
}

void try_everything(const std::vector<std::byte>& bytes) {
  const Buffer file = Buffer::copy_of(bytes);
  NamedData data;
  if (data.load(file.bytes()) != Error::kOk) return;
  Session session(program_with_external().write());
  session.data = {&data, 1};
  if (session.load() == Error::kOk) {
    EXPECT_EQ(session.run<float>({10, 20, 30}), Error::kOk);
  }
}

TEST(NamedData, prefixes_are_errors) {
  const std::vector<std::byte> whole = write_ptd({});
  for (size_t size = 0; size < whole.size(); ++size) {
    const Buffer part = Buffer::copy_of(std::span(whole).first(size));
    NamedData data;
    EXPECT_NE(data.load(part.bytes()), Error::kOk) << size;
  }
}

TEST(NamedData, flipped_bits_are_handled) {
  const std::vector<std::byte> whole = write_ptd({});
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    try_everything(damaged);
  }
}

}  // namespace
}  // namespace carina::runtime
