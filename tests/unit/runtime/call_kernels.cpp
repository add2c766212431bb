// call_kernels < CALLS > RESULTS: calls kernels by name, one after another, and writes their output arguments.
// `call_kernels --names` writes the names of all kernels instead.
//
// A call: name, number of arguments, arguments. A result: the error (a byte), then each argument that is marked as an
// output. Integers are little-endian. Text and lists begin with their length (4 bytes). An argument is a letter and:
//   n none | i int64 | d double | b byte | s text | I int64 list | D double list | B byte list
//   t tensor: output? resizable? type rank (a byte each), sizes (int32), order (bytes), its bytes as text
//   v number that the kernel computes (an output) | L list of arguments
// Results of tensors: sizes (int32), bytes as text; of numbers: a letter and the number.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace {

using namespace carina::runtime;

constexpr size_t kScratchBytes = size_t{16} << 20;

template <typename T>
T get() {
  T value{};
  if (std::fread(&value, sizeof(T), 1, stdin) != 1) {
    std::fprintf(stderr, "call_kernels: the input ends within a call\n");
    std::exit(2);
  }
  return value;
}

template <typename T>
void put(const T& value) {
  std::fwrite(&value, sizeof(T), 1, stdout);
}

template <typename T>
std::vector<T> get_list(size_t count) {
  std::vector<T> list(count);
  for (T& entry : list) entry = get<T>();
  return list;
}

std::string get_text() {
  std::string text(get<uint32_t>(), '\0');
  if (!text.empty() && std::fread(text.data(), 1, text.size(), stdin) != text.size()) std::exit(2);
  return text;
}

// Owns everything that the values of one call refer to.
struct Storage {
  std::deque<EValue> values;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> integers;
  std::deque<std::vector<double>> numbers;
  std::deque<std::vector<uint8_t>> bytes;
  std::deque<std::vector<int32_t>> sizes;
  std::deque<std::vector<EValue*>> lists;
  std::deque<std::unique_ptr<std::max_align_t[]>> memory;
  std::vector<EValue*> outputs;
};

EValue* get_tensor(Storage& storage) {
  const bool is_output = get<uint8_t>() != 0;
  const bool resizable = get<uint8_t>() != 0;
  const auto type = static_cast<carina::PteScalarType>(get<uint8_t>());
  const size_t rank = get<uint8_t>();
  std::vector<int32_t>& sizes = storage.sizes.emplace_back(get_list<int32_t>(rank));
  const std::vector<uint8_t>& order = storage.bytes.emplace_back(get_list<uint8_t>(rank));
  const std::string content = get_text();
  sizes.insert(sizes.end(), sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank));  // upper bounds
  auto& memory = storage.memory.emplace_back(new std::max_align_t[content.size() / sizeof(std::max_align_t) + 1]);
  std::copy(content.begin(), content.end(), reinterpret_cast<char*>(memory.get()));
  Tensor tensor(type, std::span(sizes).first(rank), order, memory.get());
  tensor.resizable = resizable;
  EValue* value = &storage.values.emplace_back(tensor);
  if (is_output) storage.outputs.push_back(value);
  return value;
}

EValue* get_argument(Storage& storage);

EValue* get_list_of_arguments(Storage& storage) {
  std::vector<EValue*> list(get<uint32_t>());
  for (EValue*& entry : list) entry = get_argument(storage);
  const std::vector<EValue*>& kept = storage.lists.emplace_back(std::move(list));
  return &storage.values.emplace_back(std::span<EValue* const>(kept));
}

EValue* get_argument(Storage& storage) {
  auto& values = storage.values;
  switch (get<char>()) {
    case 'i':
      return &values.emplace_back(get<int64_t>());
    case 'd':
      return &values.emplace_back(get<double>());
    case 'b':
      return &values.emplace_back(get<uint8_t>() != 0);
    case 's':
      return &values.emplace_back(storage.texts.emplace_back(get_text()).c_str());
    case 'I':
      return &values.emplace_back(
          std::span<const int64_t>(storage.integers.emplace_back(get_list<int64_t>(get<uint32_t>()))));
    case 'D':
      return &values.emplace_back(
          std::span<const double>(storage.numbers.emplace_back(get_list<double>(get<uint32_t>()))));
    case 'B':
      return &values.emplace_back(
          std::span<const uint8_t>(storage.bytes.emplace_back(get_list<uint8_t>(get<uint32_t>()))));
    case 't':
      return get_tensor(storage);
    case 'L':
      return get_list_of_arguments(storage);
    case 'v':
      storage.outputs.push_back(&values.emplace_back());
      return storage.outputs.back();
    default:
      return &values.emplace_back();
  }
}

void put_result(const EValue& value) {
  if (value.is_tensor()) {
    for (const int32_t size : value.tensor.sizes()) put(size);
    put(static_cast<uint32_t>(value.tensor.bytes()));
    std::fwrite(value.tensor.data, 1, value.tensor.bytes(), stdout);
    return;
  }
  const bool is_double = value.kind == EValue::Kind::kDouble;
  put(is_double ? 'd' : value.kind == EValue::Kind::kBool ? 'b' : 'i');
  is_double ? put(value.number) : put(value.to_int());
}

Error call(const std::string& name, Storage& storage) {
  std::vector<EValue*> arguments(get<uint32_t>());
  for (EValue*& argument : arguments) argument = get_argument(storage);
  static std::vector<std::max_align_t> memory(kScratchBytes / sizeof(std::max_align_t));
  Arena scratch(std::as_writable_bytes(std::span(memory)));
  const auto kernels = portable_kernels();
  const auto found = std::ranges::find(kernels, name, &KernelEntry::name);
  return found == kernels.end() ? Error::kOperatorMissing : found->kernel(arguments, scratch);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--names") == 0) {
    for (const KernelEntry& entry : portable_kernels())
      std::printf("%.*s\n", static_cast<int>(entry.name.size()), entry.name.data());
    return 0;
  }
  while (true) {
    const int first = std::fgetc(stdin);
    if (first == EOF) return 0;
    std::ungetc(first, stdin);
    Storage storage;
    const Error error = call(get_text(), storage);
    put(static_cast<uint8_t>(error));
    if (error != Error::kOk) continue;
    for (const EValue* value : storage.outputs) put_result(*value);
  }
}
