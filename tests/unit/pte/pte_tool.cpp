// For tests/integration/runtime/test_pte.py.
// pte_tool rewrite IN.pte OUT.pte inline|segment: reads a program and writes it again, with the delegates inline or in
// segments. pte_tool emit MODEL.pt2 OUT.pte: writes the imported graph as a program of kernels. pte_tool blob IN.pte:
// prints the blocks and tensors of the first delegate's blob, as the runtime reads them.
#include <cstdio>
#include <cstring>
#include <string>

#include "base/io/file.h"
#include "carina/log.h"
#include "frontend/pt2/reader.h"
#include "pte/emit.h"
#include "pte/reader.h"
#include "pte/writer.h"
#include "runtime/backends/ethos_u.h"

namespace {

using namespace carina;

Result<void> write(const pte::Program& program, const char* path, pte::DelegateData data) {
  CARINA_TRY(const auto bytes, pte::write_program(program, {.delegate_data = data}));
  return write_file(path, bytes);
}

Result<void> rewrite(const char* in, const char* out, pte::DelegateData data) {
  CARINA_TRY(const Buffer file, map_file(in));
  CARINA_TRY(const pte::Program program, pte::read_program(file, in));
  return write(program, out, data);
}

Result<void> emit(const char* in, const char* out) {
  CARINA_TRY(const Buffer file, map_file(in));
  CARINA_TRY(const ir::Graph graph, pt2::read_pt2(file, in, Log{}));
  CARINA_TRY(const pte::Program program, pte::emit(graph, {}));
  return write(program, out, pte::DelegateData::kInline);
}

void print(const char* kind, const runtime::NpuTensor& tensor) {
  std::printf("%s", kind);
  for (const int32_t size : tensor.shape) std::printf(" %d", size);
  std::printf(" %d %d %d\n", tensor.element_bytes, tensor.offset, tensor.region);
}

Result<void> show_blob(const char* in) {
  CARINA_TRY(const Buffer file, map_file(in));
  CARINA_TRY(const pte::Program program, pte::read_program(file, in));
  if (program.plans.empty() || program.plans[0].delegates.empty())
    return fail(Diagnostic{.where = in, .what = "no delegate"});
  runtime::NpuStream stream;
  if (runtime::read_npu_stream(program.plans[0].delegates[0].blob.bytes(), stream) != runtime::Error::kOk)
    return fail(Diagnostic{.where = in, .what = "a broken blob"});
  std::printf("commands %zu weights %zu scratch %zu\n", stream.commands.size(), stream.weights.size(),
              stream.scratch_bytes);
  for (size_t i = 0; i < stream.input_count(); ++i) print("input", stream.input(i));
  for (size_t i = 0; i < stream.output_count(); ++i) print("output", stream.output(i));
  return {};
}

Result<void> run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "rewrite" && argc == 5) {
    return rewrite(argv[2], argv[3],
                   std::strcmp(argv[4], "segment") == 0 ? pte::DelegateData::kSegment : pte::DelegateData::kInline);
  }
  if (command == "emit" && argc == 4) return emit(argv[2], argv[3]);
  if (command == "blob" && argc == 3) return show_blob(argv[2]);
  return fail(Diagnostic{.where = "pte_tool", .what = "usage: pte_tool rewrite|emit|blob ..."});
}

}  // namespace

int main(int argc, char** argv) {
  const Result<void> done = run(argc, argv);
  if (!done) std::fprintf(stderr, "%s\n", to_string(done.error()).c_str());
  return done ? 0 : 1;
}
