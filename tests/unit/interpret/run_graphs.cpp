// Runs many graphs in one process, for the integration tests.
//
//   run_graphs [--threads N] [--target NAME] [--dump] [--rewrite] BATCH RESULTS
//     verifies and interprets each graph of BATCH. --dump also writes each value of the main graph's nodes.
//     --rewrite prints, parses, writes and reads the graph, runs the result and writes its file as a value named "file"
//   run_graphs --rows      the operators' names and type rows as JSON
//   run_graphs --targets   the instruction sets of this processor, one per line
//
// BATCH: for each graph its file, the number of inputs and each input's elements. RESULTS: for each graph a status, a
// message, the number of values, and the name and elements of each value. Status: 0 ran, 1 could not be read, 2
// rejected by the verifier, 3 rejected by planning, 4 failed while running. Numbers are 32 bits, little-endian. Files,
// texts and elements begin with their length.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "facts/tosa_rows.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "interpret/interpreter.h"
#include "ir/text.h"

namespace carina {

namespace {

enum class Stage : uint32_t { kDone = 0, kRead = 1, kVerify = 2, kPlan = 3, kRun = 4 };

struct Arguments {
  int threads = 1;
  bool dump = false;
  bool rewrite = false;
  std::string target;
  std::vector<std::string> files;
};

struct Named {
  std::string name;
  std::vector<std::byte> elements;
};

struct Outcome {
  Stage stage = Stage::kRead;
  std::string message;
  std::vector<Named> values;
};

// Reads the batch from front to back. If the batch is too short, a read returns the bytes that remain.
class BatchReader {
 public:
  explicit BatchReader(const Buffer& buffer) : buffer_(buffer) {}
  [[nodiscard]] bool more() const { return at_ < buffer_.size(); }
  uint32_t number() {
    uint32_t value = 0;
    const Buffer bytes = take(sizeof(value));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  Buffer block() { return take(number()); }

 private:
  Buffer take(size_t size) {
    size = std::min(size, buffer_.size() - at_);
    const Buffer out = buffer_.slice(at_, size);
    at_ += size;
    return out;
  }
  const Buffer& buffer_;
  size_t at_ = 0;
};

class ResultWriter {
 public:
  void number(size_t value) {
    const auto narrow = static_cast<uint32_t>(value);
    append(std::as_bytes(std::span(&narrow, 1)));
  }
  void block(std::span<const std::byte> bytes) {
    number(bytes.size());
    append(bytes);
  }
  void text(std::string_view text) { block(std::as_bytes(std::span(text))); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> bytes_;
};

Named named(const ir::Value& value, const Tensor& tensor) {
  const auto bytes = tensor.data.bytes();
  return {.name = value.name, .elements = {bytes.begin(), bytes.end()}};
}

Result<std::vector<Tensor>> inputs_of(const ir::Graph& graph, std::span<const Buffer> blocks) {
  if (blocks.size() != graph.inputs.size())
    return fail(Diagnostic{.where = "batch", .what = "another number of inputs"});
  std::vector<Tensor> out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const ir::Value& value = graph[graph.inputs[i]];
    if (blocks[i].size() != tensor_bytes(value.dtype, value.shape))
      return fail(Diagnostic{.where = "batch", .what = fmt::format("input {} has another size", value.name)});
    // Copied because the interpreter requires aligned elements.
    out.push_back({.dtype = value.dtype, .shape = value.shape, .data = Buffer::copy_of(blocks[i].bytes())});
  }
  return out;
}

// Writes and reads the module in the text form and as a file; both must keep everything.
Result<ir::Module> rewritten(const ir::Module& module, Outcome& out) {
  CARINA_TRY(const ir::Module parsed, ir::parse(ir::print(module), "text"));
  if (!identical(module, parsed)) return fail(Diagnostic{.where = "text", .what = "the text form loses something"});
  CARINA_TRY(std::vector<std::byte> written, tosa::write_tosa(parsed));
  CARINA_TRY(ir::Module back, tosa::read_tosa(Buffer::copy_of(written), "written"));
  if (!identical(module, back)) return fail(Diagnostic{.where = "file", .what = "the file loses something"});
  out.values.push_back({.name = "file", .elements = std::move(written)});
  return back;
}

Result<void> run(const Buffer& file, std::span<const Buffer> blocks, const Arguments& arguments, Outcome& out) {
  CARINA_TRY(ir::Module module, tosa::read_tosa(file, "graph"));
  if (arguments.rewrite) {
    CARINA_TRY(module, rewritten(module, out));
  }
  out.stage = Stage::kVerify;
  CARINA_CHECKED(tosa::verify(module, {.level = kTosaLevelNone}));
  out.stage = Stage::kPlan;
  const ir::Graph& main = module.main();
  interpret::Options options{.threads = arguments.threads};
  if (arguments.dump) {
    options.observer = [&](const ir::Graph& graph, ir::ValueId value, const Tensor& tensor) {
      if (graph.name == main.name) out.values.push_back(named(graph[value], tensor));
    };
  }
  CARINA_TRY(const std::vector<Tensor> inputs, inputs_of(main, blocks));
  CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, options));
  out.stage = Stage::kRun;
  CARINA_TRY(const std::vector<Tensor> outputs, interpreter.run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) out.values.push_back(named(main[main.outputs[i]], outputs[i]));
  out.stage = Stage::kDone;
  return {};
}

void write(ResultWriter& writer, const Outcome& outcome) {
  writer.number(static_cast<size_t>(outcome.stage));
  writer.text(outcome.message);
  writer.number(outcome.values.size());
  for (const Named& value : outcome.values) {
    writer.text(value.name);
    writer.block(value.elements);
  }
}

Result<void> run_batch(const Arguments& arguments) {
  CARINA_TRY(const Buffer batch, map_file(arguments.files[0]));
  BatchReader reader(batch);
  ResultWriter writer;
  while (reader.more()) {
    const Buffer file = reader.block();
    std::vector<Buffer> blocks(std::min<size_t>(reader.number(), batch.size()));
    for (Buffer& block : blocks) block = reader.block();
    Outcome outcome;
    const auto done = run(file, blocks, arguments, outcome);
    if (!done) outcome.message = to_string(done.error());
    write(writer, outcome);
  }
  return write_file(arguments.files[1], writer.bytes());
}

std::optional<int64_t> target_named(std::string_view name) {
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    if (name == hwy::TargetName(rest & -rest)) return rest & -rest;
  }
  return std::nullopt;
}

void print_targets() {
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1)
    fmt::print("{}\n", hwy::TargetName(rest & -rest));
}

void print_rows() {
  std::vector<std::string> lines;
  for (const TosaOpRow& row : kTosaRows) {
    std::vector<std::string> types;
    for (const TosaTypeRow& type : row.types) {
      std::vector<std::string> named;
      for (size_t i = 0; i < row.type_names.size(); ++i)
        named.push_back(fmt::format("\"{}\": \"{}\"", row.type_names[i], name_of(type.types[i])));
      types.push_back(fmt::format(R"({{"mode": "{}", "types": {{{}}}}})", type.mode, fmt::join(named, ", ")));
    }
    lines.push_back(fmt::format(R"("{}": [{}])", name_of(row.op).substr(5), fmt::join(types, ", ")));
  }
  fmt::print("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

int run_arguments(const Arguments& arguments) {
  if (arguments.files.size() != 2) {
    fmt::print(
        stderr,
        "usage: run_graphs [--threads N] [--target NAME] [--dump] [--rewrite] BATCH RESULTS | --rows | --targets\n");
    return 2;
  }
  if (!arguments.target.empty()) {
    const auto target = target_named(arguments.target);
    if (!target) {
      fmt::print(stderr, "run_graphs: this processor has no {}\n", arguments.target);
      return 2;
    }
    const int64_t rest = hwy::SupportedTargets() & -*target;  // it and all lower instruction sets
    hwy::SetSupportedTargetsForTest(rest);
    hwy::GetChosenTarget().Update(rest);
  }
  const auto done = run_batch(arguments);
  if (!done) fmt::print(stderr, "{}\n", to_string(done.error()));
  return done ? 0 : 1;
}

}  // namespace

}  // namespace carina

int main(int argc, char** argv) {
  carina::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--rows") return carina::print_rows(), 0;
    if (word == "--targets") return carina::print_targets(), 0;
    if (word == "--threads" && i + 1 < argc) {
      arguments.threads = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--target" && i + 1 < argc) {
      arguments.target = argv[++i];
    } else if (word == "--dump") {
      arguments.dump = true;
    } else if (word == "--rewrite") {
      arguments.rewrite = true;
    } else {
      arguments.files.emplace_back(word);
    }
  }
  return carina::run_arguments(arguments);
}
