#include "frontend/tflite/tflite.h"

#include <gmock/gmock.h>

#include "frontend/tflite/kernels/fixed_point_internal.h"
#include "frontend/tflite/reader.h"
#include "ir/pass.h"
#include "tflite/files.h"

namespace carina::tflite {
namespace {

using testing::HasSubstr;

std::string error_of(const File& file) {
  const auto read = read_tflite(bytes_of(file), "m.tflite");
  return read ? "no error" : to_string(read.error());
}

TEST(Tflite, tensors_and_operators_have_names_of_file) {
  const auto module = read_tflite(bytes_of(relu_file()), "m.tflite");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const ir::Graph& graph = module->main();
  EXPECT_TRUE(ir::verify_structure(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes.front().name, "y");
  EXPECT_EQ(graph[graph.inputs.front()].name, "x");
  EXPECT_EQ(graph[graph.outputs.front()].name, "y");
}

TEST(Tflite, larger_of_two_operator_codes_counts) {
  File file = relu_file();
  file.old_code = 0;  // ADD, as files have it that set the new field only
  file.code = 19;
  EXPECT_TRUE(read_tflite(bytes_of(file), "m.tflite").has_value());
}

TEST(Tflite, tensor_without_name_is_called_by_its_index) {
  File file = relu_file();
  file.tensors[1].name.clear();
  const auto module = read_tflite(bytes_of(file), "m.tflite");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->main()[module->main().outputs.front()].name, "tensor_1");
}

TEST(Tflite, output_that_is_an_input_becomes_a_node) {
  File file = relu_file();
  file.outputs = {0, 1, 1};
  const auto module = read_tflite(bytes_of(file), "m.tflite");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->main().outputs.size(), 3U);
  EXPECT_TRUE(ir::verify_structure(module->main()));
}

TEST(Tflite, uint8_keeps_its_bits_at_the_borders) {
  File file = relu_file();
  for (FileTensor& tensor : file.tensors) {
    tensor.type = 3;
    tensor.zero_point = {130};
  }
  const auto module = read_tflite(bytes_of(file), "m.tflite");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const std::vector<ir::Node>& nodes = module->main().nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_TRUE(nodes.front().attributes.get<bool>("input_unsigned"));
  EXPECT_TRUE(nodes.back().attributes.get<bool>("output_unsigned"));
}

TEST(Tflite, unsupported_operator_is_named_with_its_tensor) {
  File file = relu_file();
  file.old_code = 66;
  EXPECT_THAT(error_of(file), HasSubstr("m.tflite: SIN y: the operator is not supported"));
  file.old_code = 32;
  file.custom = "ethos-u";
  EXPECT_THAT(error_of(file), HasSubstr("compiled for an NPU already"));
}

TEST(Tflite, float_model_is_rejected_with_what_to_do) {
  File file = relu_file();
  for (FileTensor& tensor : file.tensors)
    tensor = {.name = tensor.name, .shape = {1, 4}, .type = 0, .scale = {}, .zero_point = {}};
  EXPECT_THAT(error_of(file), HasSubstr("--io int8"));
}

TEST(Tflite, per_channel_zero_points_may_be_one_or_many) {
  File file = relu_file();
  file.tensors.push_back({.name = "c", .shape = {2, 2}, .scale = {1, 2}, .zero_point = {7}, .data = {1, 2, 3, 4}});
  const auto model = read_model(bytes_of(file), "m.tflite");
  ASSERT_TRUE(model.has_value()) << to_string(model.error());
  const Tensor& tensor = model->subgraphs.front().tensors[2];
  EXPECT_EQ(tensor.quantization.zero_points, (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(tensor.data.size(), 4U);
}

TEST(Tflite, int4_data_are_unpacked_low_half_first) {
  File file = relu_file();
  file.tensors.push_back({.name = "c", .shape = {3}, .type = 17, .data = {0x8f, 0x07}});
  const auto model = read_model(bytes_of(file), "m.tflite");
  ASSERT_TRUE(model.has_value()) << to_string(model.error());
  const auto values = model->subgraphs.front().tensors[2].data.bytes();
  EXPECT_EQ(std::to_integer<int8_t>(values[0]), -1);
  EXPECT_EQ(std::to_integer<int8_t>(values[1]), -8);
  EXPECT_EQ(std::to_integer<int8_t>(values[2]), 7);
}

TEST(FixedPoint, multiplier_has_31_bits) {
  EXPECT_EQ(multiplier_of(0.5).multiplier, 1 << 30);
  EXPECT_EQ(multiplier_of(0.5).exponent, 0);
  EXPECT_EQ(multiplier_of(0).multiplier, 0);
  EXPECT_EQ(multiplier_of(1e-12).multiplier, 0);
  // A mantissa that rounds to 2^31.
  EXPECT_EQ(multiplier_of(0.99999999999).multiplier, 1 << 30);
  EXPECT_EQ(multiplier_of(0.99999999999).exponent, 1);
}

TEST(FixedPoint, multiply_rounds_twice) {
  // 5 * 0.75 / 2 = 1.875; 0.75 * 2 = 1.5 rounds to 2, half of which is 1.
  const Multiplier three_eighths = multiplier_of(0.375);
  EXPECT_EQ(multiply(5, three_eighths), 2);
  EXPECT_EQ(multiply(-5, three_eighths), -2);
  EXPECT_EQ(multiply(-2, multiplier_of(0.25)), -1);  // half away from zero after the shift
  EXPECT_EQ(multiply(3, multiplier_of(4)), 12);
}

TEST(FixedPoint, exp_is_close_to_the_real_one) {
  for (int i = 0; i < 2000; ++i) {
    const double x = -i / 100.0;
    const auto fixed = static_cast<int32_t>(x * (1 << 26));
    EXPECT_NEAR(exp_of_negative(fixed) / 2147483648.0, std::exp(fixed / 67108864.0), 3e-7) << x;
  }
}

}  // namespace
}  // namespace carina::tflite
