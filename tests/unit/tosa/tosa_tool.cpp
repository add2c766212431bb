// A command line for the integration tests: the reader, the writer, the text form and the verifier, one step at a time.
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "interpret/interpreter.h"
#include "ir/text.h"
#include "tensor/npy.h"

namespace {

using carina::Result;

constexpr std::string_view kUsage =
    "usage: tosa_tool COMMAND FILE [OUT]\n"
    "  rewrite IN.tosa OUT.tosa   read and write\n"
    "  retext  IN.tosa OUT.tosa   read, print, parse, write; the parsed graphs must be identical\n"
    "  print   IN.tosa            the text form on the standard output\n"
    "  assemble IN.txt OUT.tosa   parse the text form and write it, unverified\n"
    "  verify  IN.tosa...         the verifier; prints a line per rejected file, exit code 1 when there is one\n"
    "  run     IN.tosa INPUT.npy... -o OUTPUT.npy...\n"
    "                             verify and interpret; exit code 0 valid, 1 a REQUIRE is broken, 2 rejected\n";

Result<carina::ir::Module> read(const std::string& path) {
  CARINA_TRY(const carina::Buffer file, carina::map_file(path));
  return carina::tosa::read_tosa(file, path);
}

Result<void> write(const carina::ir::Module& module, const std::string& path) {
  CARINA_TRY(const std::vector<std::byte> bytes, carina::tosa::write_tosa(module));
  return carina::write_file(path, bytes);
}

Result<void> rewrite(const std::string& in, const std::string& out) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  return write(module, out);
}

Result<void> retext(const std::string& in, const std::string& out) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  const std::string text = carina::ir::print(module);
  CARINA_TRY(const carina::ir::Module back, carina::ir::parse(text, "text of " + in));
  if (!identical(module, back)) return carina::fail({.where = in, .what = "the text form loses something"});
  return write(back, out);
}

Result<void> print(const std::string& in) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  std::fputs(carina::ir::print(module).c_str(), stdout);
  return {};
}

Result<void> assemble(const std::string& in, const std::string& out) {
  CARINA_TRY(const carina::Buffer file, carina::map_file(in));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  CARINA_TRY(const carina::ir::Module module, carina::ir::parse(text, in));
  return write(module, out);
}

Result<void> verify(const std::string& in) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  return carina::tosa::verify(module, {.where = in});
}

Result<void> verify_all(std::span<const std::string> files) {
  carina::Diagnostics all;
  for (const std::string& file : files) {
    const auto sound = verify(file);
    if (!sound) all.push_back(sound.error().front());
  }
  if (all.empty()) return {};
  return carina::fail(all);
}

Result<carina::Tensor> read_array(const std::string& path, const carina::ir::Value& value) {
  CARINA_TRY(const carina::Buffer file, carina::map_file(path));
  CARINA_TRY(carina::Tensor tensor, carina::read_npy(file, path));
  if (carina::element_bytes(tensor.dtype) == carina::element_bytes(value.dtype))
    tensor.dtype = value.dtype;  // .npy has fewer types
  return tensor;
}

Result<carina::interpret::Interpreter> prepare(const std::string& in, carina::ir::Module& module) {
  CARINA_TRY(module, read(in));
  CARINA_CHECKED(carina::tosa::verify(module, {.where = in}));
  return carina::interpret::Interpreter::create(module, {.where = in});
}

Result<void> run_arrays(const carina::ir::Graph& graph, carina::interpret::Interpreter& interpreter,
                        std::span<const std::string> inputs, std::span<const std::string> outputs) {
  std::vector<carina::Tensor> arrays;
  for (size_t i = 0; i < std::min(inputs.size(), graph.inputs.size()); ++i) {
    CARINA_TRY(arrays.emplace_back(), read_array(inputs[i], graph[graph.inputs[i]]));
  }
  CARINA_TRY(const std::vector<carina::Tensor> results, interpreter.run(arrays));
  for (size_t i = 0; i < std::min(outputs.size(), results.size()); ++i)
    CARINA_CHECKED(carina::write_file(outputs[i], carina::npy_bytes(results[i])));
  return {};
}

int report(const carina::Diagnostics& diagnostics, int code) {
  std::fprintf(stderr, "%s\n", carina::to_string(diagnostics).c_str());
  return code;
}

int run(const std::string& in, std::span<const std::string> arguments) {
  const auto separator = std::ranges::find(arguments, "-o");
  const auto count = static_cast<size_t>(separator - arguments.begin());
  carina::ir::Module module;
  auto interpreter = prepare(in, module);
  if (!interpreter) return report(interpreter.error(), 2);
  const auto outputs = arguments.subspan(std::min(count + 1, arguments.size()));
  const auto done = run_arrays(module.main(), *interpreter, arguments.first(count), outputs);
  return done ? 0 : report(done.error(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Result<void> done;
  if (arguments.size() >= 2 && arguments[0] == "run") return run(arguments[1], std::span(arguments).subspan(2));
  if (arguments.size() == 3 && arguments[0] == "rewrite")
    done = rewrite(arguments[1], arguments[2]);
  else if (arguments.size() == 3 && arguments[0] == "retext")
    done = retext(arguments[1], arguments[2]);
  else if (arguments.size() == 2 && arguments[0] == "print")
    done = print(arguments[1]);
  else if (arguments.size() == 3 && arguments[0] == "assemble")
    done = assemble(arguments[1], arguments[2]);
  else if (arguments.size() >= 2 && arguments[0] == "verify")
    done = verify_all(std::span(arguments).subspan(1));
  else
    return std::fputs(kUsage.data(), stderr), 2;
  if (done) return 0;
  std::fprintf(stderr, "%s\n", carina::to_string(done.error()).c_str());
  return 1;
}
