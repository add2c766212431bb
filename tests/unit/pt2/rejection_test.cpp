#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/parallel/parallel.h"
#include "model_builder.h"

namespace carina::pt2 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string rejection_of(std::span<const std::byte> bytes) {
  const Result<ir::Graph> graph = read_pt2(Buffer::copy_of(bytes), "m.pt2", {});
  return graph ? "accepted" : to_string(graph.error());
}

// A model in which one file of the archive is replaced or absent.
std::string with_entry(const std::string& name, const std::string& text) {
  ModelBuilder model = small_model();
  model.entries[name] = text;
  return model.rejection();
}

TEST(Rejection, damaged_containers_are_named) {
  EXPECT_THAT(rejection_of({}), HasSubstr("not a zip archive"));
  EXPECT_THAT(with_entry("archive_format", "aoti"), HasSubstr("expected \"pt2\""));
  EXPECT_THAT(with_entry("archive_version", "1"), HasSubstr("version"));
  EXPECT_THAT(with_entry("byteorder", "big"), HasSubstr("byte order"));
  EXPECT_THAT(with_entry("models/model.json", "(absent)"), HasSubstr("holds no model"));
  EXPECT_THAT(with_entry("data/weights/model.pt", "x"), HasSubstr("torch 2.8"));
  const std::string text = "x";
  const ZipEntry old{.name = "serialized_exported_program.json", .data = std::as_bytes(std::span(text))};
  EXPECT_THAT(rejection_of(*write_zip({&old, 1})), HasSubstr("torch 2.7 or older"));
}

TEST(Rejection, damaged_json_is_an_error) {
  EXPECT_THAT(with_entry("models/model.json", "{\"a\": [1, 2"), HasSubstr("not JSON: mistake at byte"));
  EXPECT_THAT(with_entry("models/model.json", "[]"), HasSubstr("schema_version"));
  EXPECT_THAT(with_entry("models/model.json", std::string(1 << 18, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(with_entry("models/model.json", std::string(1 << 18, '[') + std::string(1 << 18, ']')),
              HasSubstr("schema_version"));
  EXPECT_THAT(with_entry("data/weights/model_weights_config.json", "{}"), HasSubstr("config"));
}

// Checksums are compared while the model is read. Data with a wrong checksum are not used.
TEST(Rejection, damaged_weights_are_errors) {
  ModelBuilder model = small_model();
  model.parameter("w", {2, 2}, floats({1, 2, 3, 0x1.abcdefp9F}));
  std::vector<std::byte> bytes = model.archive();
  const std::vector<float> last{0x1.abcdefp9F};
  const auto weight = std::ranges::search(bytes, std::as_bytes(std::span(last)));
  ASSERT_FALSE(weight.empty());
  weight.front() ^= std::byte{1};
  for (const int threads : {1, 2}) {
    const ScopedThreadPool scope(threads);
    EXPECT_THAT(rejection_of(bytes), AllOf(HasSubstr("data/weights"), HasSubstr("checksum")));
  }
}

TEST(Rejection, other_versions_are_errors) {
  ModelBuilder model = small_model();
  model.schema_version = {{"major", 9}, {"minor", 0}};
  EXPECT_THAT(model.rejection(), HasSubstr("got 9.0"));
  model.schema_version = {{"major", 8}, {"minor", 8}};
  EXPECT_THAT(model.rejection(), HasSubstr("got 8.8"));
  model.schema_version = {{"major", 8}, {"minor", 99}};
  EXPECT_EQ(model.rejection(), "accepted");
}

TEST(Rejection, wrong_weights_are_errors) {
  EXPECT_THAT(with_entry("data/weights/model_weights_config.json", "(absent)"),
              HasSubstr("m.pt2: w: the archive does not hold this tensor"));
  EXPECT_THAT(with_entry("data/weights/weight_w", "(absent)"), HasSubstr("no such entry"));
  EXPECT_THAT(with_entry("data/weights/weight_w", ""), HasSubstr("the weights are missing"));
  EXPECT_THAT(with_entry("data/weights/weight_w", "12345678"), HasSubstr("reaches past the end"));
  ModelBuilder model = small_model();
  model.weights["config"]["w"]["use_pickle"] = true;
  EXPECT_THAT(model.rejection(), HasSubstr("m.pt2: w: the tensor is stored as a pickle"));
}

TEST(Rejection, wrong_tensor_metadata_are_errors) {
  const auto with_meta = [](const std::string& key, json value) {
    ModelBuilder model = small_model();
    model.weights["config"]["w"]["tensor_meta"][key] = std::move(value);
    return model.rejection();
  };
  EXPECT_THAT(with_meta("storage_offset", {{"as_int", 1}}), HasSubstr("reaches past the end"));
  EXPECT_THAT(with_meta("storage_offset", {{"as_int", INT64_MAX}}), HasSubstr("reaches past the end"));
  EXPECT_THAT(with_meta("storage_offset", {{"as_int", -1}}), HasSubstr("reaches past the end"));
  EXPECT_THAT(with_meta("strides", sizes_json({INT64_MAX, INT64_MAX})), HasSubstr("reaches past the end"));
  EXPECT_THAT(with_meta("strides", sizes_json({-1, 1})), HasSubstr("reaches past the end"));
  EXPECT_THAT(with_meta("strides", sizes_json({1})), HasSubstr("not as many strides"));
  EXPECT_THAT(with_meta("sizes", sizes_json({INT64_MAX, INT64_MAX})), HasSubstr("not possible"));
  EXPECT_THAT(with_meta("sizes", sizes_json({-1, 2})), HasSubstr("not possible"));
  EXPECT_THAT(with_meta("sizes", sizes_json(std::vector<int64_t>(17, 1))), HasSubstr("too many dimensions"));
  EXPECT_THAT(with_meta("sizes", sizes_json({1, 4})), HasSubstr("not the one that the model declares"));
  EXPECT_THAT(with_meta("dtype", 10), HasSubstr("complex64"));
  EXPECT_THAT(with_meta("dtype", 99), HasSubstr("scalar type 99"));
  EXPECT_THAT(with_meta("layout", 1), HasSubstr("sparse_coo"));
}

TEST(Rejection, repeated_elements_do_not_exhaust_memory) {
  ModelBuilder model = small_model();
  const json huge = sizes_json({1 << 16, 1 << 16});
  model.weights["config"]["w"]["tensor_meta"]["sizes"] = huge;
  model.weights["config"]["w"]["tensor_meta"]["strides"] = sizes_json({0, 0});
  model.graph["tensor_values"]["p_w"]["sizes"] = huge;
  EXPECT_THAT(model.rejection(), HasSubstr("repeats its elements too often"));
}

TEST(Rejection, unsupported_operators_are_all_reported) {
  ModelBuilder model = small_model();
  json& first = model.node("torch.ops.aten.linalg_qr.default", "qr", {2}, {argument("self", tensor("x"))});
  first["metadata"]["stack_trace"] = "  File \"model.py\", line 7, in forward\n";
  model.node("torch.ops.higher_order.while_loop", "loop", {2}, json::array());
  model.node("torch.ops.mine.thing.default", "thing", {2}, {argument("self", tensor("qr"))});
  const std::string text = model.rejection();
  EXPECT_THAT(text,
              HasSubstr("m.pt2: qr (model.py:7): the operator torch.ops.aten.linalg_qr.default is not supported"));
  EXPECT_THAT(text, HasSubstr("control flow"));
  EXPECT_THAT(text, HasSubstr("torch.ops.mine.thing.default"));
}

TEST(Rejection, wrong_arguments_are_errors) {
  const auto with_arguments = [](std::vector<json> arguments) {
    ModelBuilder model = small_model();
    model.node("torch.ops.aten.hardtanh.default", "y", {1, 2}, std::move(arguments));
    model.output("y");
    return model.rejection();
  };
  EXPECT_THAT(with_arguments({}), HasSubstr("argument self of aten.hardtanh.default is missing"));
  EXPECT_THAT(with_arguments({argument("self", tensor("x")), argument("color", {{"as_int", 1}})}),
              HasSubstr("no argument color"));
  EXPECT_THAT(with_arguments({argument("self", tensor("nobody"))}), HasSubstr("nobody"));
  EXPECT_THAT(with_arguments({argument("self", tensor("relu_later"))}), HasSubstr("relu_later"));
  EXPECT_THAT(with_arguments({argument("self", tensor("x")), argument("min_val", {{"as_string", "low"}})}),
              HasSubstr("a number"));
  EXPECT_THAT(with_arguments(
                  {argument("self", tensor("x")), argument("min_val", {{"as_complex", {{"real", 1}, {"imag", 1}}}})}),
              HasSubstr("complex"));
  EXPECT_THAT(with_arguments({argument("self", tensor("x")), argument("min_val", {{"as_int", 1}, {"as_float", 1}})}),
              HasSubstr("exactly one key"));
}

TEST(Rejection, a_changed_buffer_is_state_and_no_error) {
  ModelBuilder model = small_model();
  model.parameter("calls", {1}, floats({0}));
  model.node("torch.ops.aten.add_.Tensor", "add_", {1},
             {argument("self", tensor("p_calls")), argument("other", {{"as_int", 1}})});
  EXPECT_EQ(model.rejection(), "accepted") << "nobody reads the counter";
  model.output("add_");
  EXPECT_EQ(model.rejection(), "accepted") << "a result depends on it";
}

TEST(Rejection, data_dependent_sizes_are_errors) {
  ModelBuilder model = small_model();
  model.graph["tensor_values"]["relu"]["sizes"][0] = {{"as_expr", {{"expr_str", "Symbol('u0')"}, {"hint", nullptr}}}};
  EXPECT_THAT(model.rejection(), HasSubstr("depends on the data"));
}

TEST(Rejection, nested_regions_are_limited) {
  json graph = {{"inputs", json::array()},
                {"outputs", json::array()},
                {"nodes", json::array()},
                {"tensor_values", json::object()}};
  for (int depth = 0; depth < 40; ++depth) {
    const json node = {
        {"target", "torch.ops.higher_order.wrap_with_set_grad_enabled"},
        {"inputs",
         {argument("", {{"as_bool", false}}), argument("", {{"as_graph", {{"name", "sub"}, {"graph", graph}}}})}},
        {"outputs", json::array()},
        {"metadata", json::object()}};
    graph["nodes"] = json::array({node});
  }
  ModelBuilder model = small_model();
  model.graph["nodes"].push_back(graph["nodes"][0]);
  EXPECT_THAT(model.rejection(), HasSubstr("nested too deeply"));
}

TEST(Rejection, truncations_and_flipped_bits_are_handled) {
  const std::vector<std::byte> good = small_model().archive();
  ASSERT_EQ(rejection_of(good), "accepted");
  constexpr size_t kEndRecordBytes = 22;  // of the zip format; later fields may be missing
  for (size_t size = 0; size + kEndRecordBytes < good.size(); size += 7)
    EXPECT_NE(rejection_of(std::span(good).first(size)), "accepted");
  for (size_t at = 0; at < good.size(); at += 5) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{static_cast<unsigned char>(1U << (at % 8))};
    rejection_of(bad);
  }
}

// Replaces each value of the description in turn. Nothing may crash, and an accepted model must give a valid graph.
void damage(json& root, json& node, const ModelBuilder& model) {
  const json replacements[] = {nullptr, -1, "text", json::array(), json::object(), 1e300, INT64_MAX};
  const json original = node;
  for (const json& replacement : replacements) {
    node = replacement;
    ModelBuilder copy = model;
    copy.entries["models/model.json"] = root.dump();
    (void)copy.read();
  }
  node = original;
  for (auto& child : node) {
    if (node.is_structured()) damage(root, child, model);
  }
}

TEST(Rejection, wrong_values_are_handled) {
  const ModelBuilder model = small_model();
  json root = json::parse(model.model_text());
  damage(root, root, model);
}

}  // namespace
}  // namespace carina::pt2
