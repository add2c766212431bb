// pt2_tool MODEL.pt2 [FILE.npz]: prints the imported graph as JSON and writes its constants, for
// tests/integration/pytorch/test_pt2.py. Messages go to stderr; the exit code is 1 if the model is rejected. pt2_tool
// MODEL.pt2 --time REPETITIONS: the shortest time of a read, in milliseconds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/io/file.h"
#include "frontend/pt2/reader.h"
#include "tensor/npy.h"

namespace {

using namespace carina;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return fmt::format("{}", value);
}

struct AttributeText {
  std::string operator()(std::monostate /*none*/) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{{\"float\": {}}}", number(value)); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ", ") + number(value);
    return fmt::format("{{\"floats\": [{}]}}", text);
  }
  std::string operator()(const std::vector<bool>& values) const { return fmt::format("[{}]", fmt::join(values, ", ")); }
  std::string operator()(DType value) const { return fmt::format("{{\"dtype\": {}}}", quoted(name_of(value))); }
  std::string operator()(const ir::Bytes& /*bytes*/) const { return "null"; }
};

std::string ids(const ir::Graph& graph, const std::vector<ir::ValueId>& list) {
  std::string text;
  for (const ir::ValueId id : list) text += (text.empty() ? "" : ", ") + (id.valid() ? quoted(graph[id].name) : "null");
  return "[" + text + "]";
}

void print(const ir::Graph& graph) {
  fmt::print("{{\"inputs\": {}, \"outputs\": {},\n\"values\": {{", ids(graph, graph.inputs), ids(graph, graph.outputs));
  for (const ir::Value& value : graph.values) {
    fmt::print("{}\n{}: {{\"dtype\": {}, \"shape\": {}", &value == graph.values.data() ? "" : ",", quoted(value.name),
               quoted(name_of(value.dtype)), to_string(value.shape));
    if (value.constant) fmt::print(", \"constant\": true");
    fmt::print("}}");
  }
  fmt::print("}},\n\"nodes\": [");
  for (const ir::Node& node : graph.nodes) {
    std::string attributes;
    for (const auto& [name, value] : node.attributes.list()) {
      attributes +=
          fmt::format("{}{}: {}", attributes.empty() ? "" : ", ", quoted(name), std::visit(AttributeText{}, value));
    }
    fmt::print(
        "{}\n{{\"name\": {}, \"op\": {}, \"inputs\": {}, \"outputs\": {}, \"source\": {}, \"attributes\": {{{}}}}}",
        &node == graph.nodes.data() ? "" : ",", quoted(node.name), quoted(node.op.name()), ids(graph, node.inputs),
        ids(graph, node.outputs), quoted(node.source), attributes);
  }
  fmt::print("]}}\n");
}

Result<void> write_constants(const ir::Graph& graph, const std::string& path) {
  std::map<std::string, Tensor> constants;
  for (const ir::Value& value : graph.values) {
    if (value.constant) constants.emplace(value.name, *value.constant);
  }
  CARINA_TRY(const std::vector<std::byte> bytes, npz_bytes(constants));
  return write_file(path, bytes);
}

int report(const Diagnostics& diagnostics) {
  fmt::print(stderr, "{}\n", to_string(diagnostics));
  return 1;
}

int measure(const std::string& path, int repetitions) {
  double best_ms = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<Buffer> file = map_file(path);
    if (!file || !pt2::read_pt2(*file, path, Log{})) return 1;
    best_ms =
        std::min(best_ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  fmt::print("{:.2f} ms\n", best_ms);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string path = argv[1];
  if (argc == 4) return measure(path, std::max(1, std::atoi(argv[3])));
  const Result<Buffer> file = map_file(path);
  if (!file) return report(file.error());
  const Log log{.note = [](const Diagnostic& d) { fmt::print(stderr, "note: {}\n", to_string(d)); }};
  const Result<ir::Graph> graph = pt2::read_pt2(*file, path.substr(path.rfind('/') + 1), log);
  if (!graph) return report(graph.error());
  print(*graph);
  if (argc < 3) return 0;
  const Result<void> written = write_constants(*graph, argv[2]);
  return written ? 0 : report(written.error());
}
