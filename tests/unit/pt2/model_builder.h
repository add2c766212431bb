#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/io/zip.h"
#include "frontend/pt2/reader.h"

// Builds a .pt2 archive as torch.export.save() writes it. Tests damage single parts of it.
namespace carina::pt2 {

using json = nlohmann::json;

inline json sizes_json(const std::vector<int64_t>& sizes) {
  json list = json::array();
  for (const int64_t size : sizes) list.push_back({{"as_int", size}});
  return list;
}

inline json meta_json(int scalar_type, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return {{"dtype", scalar_type},
          {"sizes", sizes_json(sizes)},
          {"strides", sizes_json(strides)},
          {"storage_offset", {{"as_int", 0}}},
          {"layout", 7},
          {"requires_grad", false},
          {"device", {{"type", "cpu"}, {"index", nullptr}}}};
}

inline json tensor(const std::string& name) {
  return {{"as_tensor", {{"name", name}}}};
}
inline json argument(const std::string& name, json value) {
  return {{"name", name}, {"arg", std::move(value)}, {"kind", 1}};
}

struct ModelBuilder {
  json graph = {{"inputs", json::array()},
                {"outputs", json::array()},
                {"nodes", json::array()},
                {"tensor_values", json::object()},
                {"sym_int_values", json::object()},
                {"sym_bool_values", json::object()},
                {"sym_float_values", json::object()},
                {"custom_obj_values", json::object()},
                {"is_single_tensor_return", false}};
  json input_specs = json::array();
  json output_specs = json::array();
  json schema_version = {{"major", 8}, {"minor", 20}};
  json weights = {{"config", json::object()}};
  json constants = {{"config", json::object()}};
  std::map<std::string, std::string> entries;  // more files of the archive, by path below its root

  void input(const std::string& name, const std::vector<int64_t>& sizes, int scalar_type = 7) {
    graph["inputs"].push_back(tensor(name));
    graph["tensor_values"][name] = meta_json(scalar_type, sizes);
    input_specs.push_back({{"user_input", {{"arg", tensor(name)}}}});
  }

  // A parameter "w" of the user's model, called "p_w" in the graph, with these bytes.
  void parameter(const std::string& name, const std::vector<int64_t>& sizes, std::string bytes, int scalar_type = 7) {
    graph["inputs"].push_back(tensor("p_" + name));
    graph["tensor_values"]["p_" + name] = meta_json(scalar_type, sizes);
    input_specs.push_back({{"parameter", {{"arg", {{"name", "p_" + name}}}, {"parameter_name", name}}}});
    weights["config"][name] = {{"path_name", "weight_" + name},
                               {"is_param", true},
                               {"use_pickle", false},
                               {"tensor_meta", meta_json(scalar_type, sizes)}};
    entries["data/weights/weight_" + name] = std::move(bytes);
  }

  json& node(const std::string& target, const std::string& result, const std::vector<int64_t>& sizes,
             std::vector<json> arguments, int scalar_type = 7) {
    graph["tensor_values"][result] = meta_json(scalar_type, sizes);
    graph["nodes"].push_back({{"target", target},
                              {"inputs", std::move(arguments)},
                              {"outputs", json::array({tensor(result)})},
                              {"metadata", json::object()},
                              {"name", result}});
    return graph["nodes"].back();
  }

  void output(const std::string& name) {
    graph["outputs"].push_back(tensor(name));
    output_specs.push_back({{"user_output", {{"arg", tensor(name)}}}});
  }

  [[nodiscard]] std::string model_text() const {
    const json model = {{"graph_module",
                         {{"graph", graph},
                          {"signature", {{"input_specs", input_specs}, {"output_specs", output_specs}}},
                          {"module_call_graph", json::array()}}},
                        {"schema_version", schema_version},
                        {"range_constraints", json::object()},
                        {"verifiers", {"TRAINING"}},
                        {"torch_version", "2.13.0"},
                        {"opset_version", {{"aten", 10}}}};
    return model.dump();
  }

  [[nodiscard]] std::vector<std::byte> archive() const {
    std::map<std::string, std::string> all = {{"archive_format", "pt2"},
                                              {"archive_version", "0"},
                                              {"byteorder", "little"},
                                              {"models/model.json", model_text()},
                                              {"data/weights/model_weights_config.json", weights.dump()},
                                              {"data/constants/model_constants_config.json", constants.dump()}};
    for (const auto& [name, text] : entries) all[name] = text;
    std::vector<ZipEntry> list;
    for (const auto& [name, text] : all) {
      if (text != "(absent)") list.push_back({.name = "m/" + name, .data = std::as_bytes(std::span(text))});
    }
    return *write_zip(list);
  }

  [[nodiscard]] Result<ir::Graph> read(const Log& log = {}) const {
    return read_pt2(Buffer::copy_of(archive()), "m.pt2", log);
  }
  // The messages if the model is rejected, otherwise "accepted".
  [[nodiscard]] std::string rejection() const {
    const Result<ir::Graph> graph_read = read();
    return graph_read ? "accepted" : to_string(graph_read.error());
  }
};

inline std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// y = relu(linear(x, w)), x [1,2], w [2,2]
inline ModelBuilder small_model() {
  ModelBuilder model;
  model.parameter("w", {2, 2}, floats({1, 2, 3, 4}));
  model.input("x", {1, 2});
  model.node("torch.ops.aten.linear.default", "linear", {1, 2},
             {argument("input", tensor("x")), argument("weight", tensor("p_w"))});
  model.node("torch.ops.aten.relu.default", "relu", {1, 2}, {argument("self", tensor("linear"))});
  model.output("relu");
  return model;
}

}  // namespace carina::pt2
