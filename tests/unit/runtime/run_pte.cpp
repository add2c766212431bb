// run_pte MODEL.pte OUT_PREFIX INPUT.bin...: runs the first method and writes each output's bytes to OUT_PREFIX<n>.bin.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/method.h"

namespace {

using carina::runtime::Arena;
using carina::runtime::Error;
using carina::runtime::Method;
using carina::runtime::Program;

constexpr size_t kArenaBytes = size_t{64} << 20;

// Bytes aligned to 16.
struct AlignedBytes {
  std::vector<std::byte> storage;
  std::span<std::byte> bytes;

  explicit AlignedBytes(size_t size) : storage(size + 16) {
    void* start = storage.data();
    size_t library = storage.size();
    bytes = {static_cast<std::byte*>(std::align(16, size, start, library)), size};
  }
};

AlignedBytes read_file(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path);
    std::exit(2);
  }
  AlignedBytes content(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.bytes.data()), static_cast<std::streamsize>(content.bytes.size()));
  return content;
}

void check(Error error, const char* what, const Method& method) {
  if (error == Error::kOk) return;
  std::fprintf(stderr, "%s: %s %s (instruction %d)\n", what, name_of(error), method.problem().name,
               method.problem().instruction);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run_pte MODEL.pte OUT_PREFIX INPUT.bin...\n");
    return 2;
  }
  const AlignedBytes file = read_file(argv[1]);
  Program program;
  Method method;
  check(program.load(file.bytes), "load", method);
  if (program.methods() == 0) return 1;
  std::vector<AlignedBytes> buffers;
  std::vector<std::span<std::byte>> planned;
  for (size_t i = 0; i < program.planned_buffers(0); ++i) buffers.emplace_back(program.planned_buffer_bytes(0, i));
  for (const AlignedBytes& buffer : buffers) planned.push_back(buffer.bytes);
  const AlignedBytes method_memory(kArenaBytes);
  const AlignedBytes scratch_memory(kArenaBytes);
  Arena method_arena(method_memory.bytes);
  Arena scratch(scratch_memory.bytes);
  check(method.load(program, 0, {.method = &method_arena, .scratch = &scratch, .planned = planned},
                    {.kernels = carina::runtime::portable_kernels(), .backends = {}}),
        "method", method);
  std::vector<AlignedBytes> inputs;
  for (int i = 3; i < argc; ++i) inputs.push_back(read_file(argv[i]));
  for (size_t i = 0; i < inputs.size(); ++i) check(method.set_input(i, inputs[i].bytes), "input", method);
  check(method.execute(), "execute", method);
  for (size_t i = 0; i < method.outputs(); ++i) {
    const carina::runtime::Tensor& tensor = method.output(i).tensor;
    std::ofstream out(argv[2] + std::to_string(i) + ".bin", std::ios::binary);
    out.write(tensor.as<const char>(), static_cast<std::streamsize>(tensor.bytes()));
  }
  return 0;
}
