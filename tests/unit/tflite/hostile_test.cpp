#include <gmock/gmock.h>

#include "frontend/tflite/reader.h"
#include "frontend/tflite/tflite.h"
#include "tflite/files.h"

// Damaged files: each rule of the reader has one that breaks it.
namespace carina::tflite {
namespace {

using testing::HasSubstr;

std::string message(const File& file) {
  const auto read = read_model(bytes_of(file), "m.tflite");
  return read ? "no error" : to_string(read.error());
}

// relu_file() with one change.
template <typename Change>
std::string message_after(const Change& change) {
  File file = relu_file();
  change(file);
  return message(file);
}

TEST(TfliteHostile, indices_are_checked) {
  EXPECT_THAT(message_after([](File& f) { f.inputs = {5}; }), HasSubstr("inputs: tensor 5 of 2"));
  EXPECT_THAT(message_after([](File& f) { f.outputs = {-1}; }), HasSubstr("outputs: tensor -1 of 2"));
  EXPECT_THAT(message_after([](File& f) { f.op_inputs = {-2}; }), HasSubstr("tensor -2 of 2"));
  EXPECT_THAT(message_after([](File& f) { f.op_outputs = {2}; }), HasSubstr("tensor 2 of 2"));
  EXPECT_THAT(message_after([](File& f) { f.op_code_index = 1; }), HasSubstr("operator code 1 of 1"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].buffer = 9; }), HasSubstr("buffer 9 of 1"));
}

TEST(TfliteHostile, shapes_and_types_are_checked) {
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].shape = {-1, 4}; }), HasSubstr("a size of -1"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].shape = {1 << 30, 1 << 30}; }), HasSubstr("2^31"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].shape.assign(17, 1); }), HasSubstr("rank 17"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].type = 99; }), HasSubstr("unknown type 99"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].type = -1; }), HasSubstr("unknown type -1"));
}

TEST(TfliteHostile, quantization_is_checked) {
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].scale = {-1}; }), HasSubstr("a scale of -1"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].scale = {1, 2, 3}; }), HasSubstr("3 scales along axis 0"));
  EXPECT_THAT(message_after([](File& f) { f.tensors[0].zero_point = {1, 2}; }),
              HasSubstr("1 scales and 2 zero points"));
}

TEST(TfliteHostile, data_have_the_size_of_their_tensor) {
  EXPECT_THAT(message_after([](File& f) { f.tensors.push_back({.name = "c", .shape = {3}, .data = {1, 2}}); }),
              HasSubstr("2 bytes of data for INT8 [3]"));
}

TEST(TfliteHostile, operators_are_in_order) {
  EXPECT_THAT(message_after([](File& f) { f.inputs = {}; }), HasSubstr("tensor x has no value"));
  EXPECT_THAT(message_after([](File& f) { f.op_outputs = {0}; }), HasSubstr("tensor x has a value already"));
  EXPECT_THAT(message_after([](File& f) { f.op_outputs = {}; }), HasSubstr("tensor y has no value"));
}

TEST(TfliteHostile, other_versions_and_empty_models_are_rejected) {
  EXPECT_THAT(message_after([](File& f) { f.version = 4; }), HasSubstr("version of the .tflite schema"));
  EXPECT_THAT(message_after([](File& f) { f.subgraphs = 0; }), HasSubstr("no subgraph"));
}

TEST(TfliteHostile, several_subgraphs_are_read_but_not_compiled) {
  File file = relu_file();
  file.subgraphs = 2;
  EXPECT_EQ(message(file), "no error");
  const auto module = read_tflite(bytes_of(file), "m.tflite");
  ASSERT_FALSE(module.has_value());
  EXPECT_THAT(to_string(module.error()), HasSubstr("neither the first one nor the initial state"));
}

TEST(TfliteHostile, every_cut_and_every_flipped_byte_is_an_error_or_a_model) {
  const Buffer whole = bytes_of(relu_file());
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read_model(whole.slice(0, size), "m").has_value());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
    for (const int mask : {1, 0x80, 0xff}) {
      bytes[at] = whole.bytes()[at] ^ static_cast<std::byte>(mask);
      (void)read_tflite(Buffer::copy_of(bytes), "m");
    }
  }
}

}  // namespace
}  // namespace carina::tflite
