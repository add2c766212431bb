// official_kernels < CALLS > RESULTS: calls kernels of the official ExecuTorch runtime by name. It reads and writes the
// format of bin/call_kernels (tests/unit/runtime/call_kernels.cpp). Each call runs in its own process, since official
// kernels end theirs on unexpected arguments; the error is 255 then. `official_kernels --names`: all names.
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace executorch::runtime;
using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using MaybeTensor = std::optional<Tensor>;

constexpr uint32_t kScratchBytes = 16U << 20;
constexpr uint8_t kProcessEnded = 255;
constexpr unsigned kMaxSeconds = 20;
constexpr size_t kMaxReturned = 4;  // values that a kernel may return after its arguments

template <typename T>
T get() {
  T value{};
  if (std::fread(&value, sizeof(T), 1, stdin) != 1) std::exit(2);
  return value;
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
  std::deque<std::string> texts;
  std::deque<ArrayRef<char>> text_views;
  std::deque<std::vector<double>> numbers;
  std::deque<ArrayRef<double>> number_views;
  std::deque<std::unique_ptr<bool[]>> flags;
  std::deque<ArrayRef<bool>> flag_views;
  std::deque<std::vector<EValue*>> lists;
  std::deque<std::vector<int64_t>> integers;
  std::deque<BoxedEvalueList<int64_t>> integer_lists;
  std::deque<std::unique_ptr<std::max_align_t[]>> memory;
  std::deque<BoxedEvalueList<Tensor>> tensor_lists;
  std::deque<BoxedEvalueList<MaybeTensor>> maybe_lists;
  std::deque<std::vector<int32_t>> sizes;
  std::deque<std::vector<uint8_t>> orders;
  std::deque<TensorImpl> tensors;
  std::vector<EValue*> outputs;
  std::vector<size_t> output_bytes;  // the available memory; SIZE_MAX: a number
  std::vector<size_t> output_ranks;
  bool takes_optional_tensors = false;  // as elements of lists
  std::deque<EValue> values;            // last: destroyed before the lists that they point to
};

void* memory_of(Storage& storage, size_t bytes) {
  return storage.memory.emplace_back(new std::max_align_t[bytes / sizeof(std::max_align_t) + 1]()).get();
}

EValue* get_tensor(Storage& storage) {
  const bool is_output = get<uint8_t>() != 0;
  const bool resizable = get<uint8_t>() != 0;
  const auto type = static_cast<ScalarType>(get<uint8_t>());
  const size_t rank = get<uint8_t>();
  auto& sizes = storage.sizes.emplace_back(get_list<int32_t>(rank));
  auto& order = storage.orders.emplace_back(get_list<uint8_t>(rank));
  const std::string content = get_text();
  void* data = memory_of(storage, content.size());
  std::memcpy(data, content.data(), content.size());
  auto& strides = storage.sizes.emplace_back(rank);
  int32_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[order[i]] = step;
    step *= sizes[order[i]] > 0 ? sizes[order[i]] : 1;
  }
  const auto dynamism = resizable ? TensorShapeDynamism::DYNAMIC_BOUND : TensorShapeDynamism::STATIC;
  TensorImpl& impl = storage.tensors.emplace_back(type, static_cast<ssize_t>(rank), sizes.data(), data, order.data(),
                                                  strides.data(), dynamism);
  EValue* value = &storage.values.emplace_back(Tensor(&impl));
  if (is_output) {
    storage.outputs.push_back(value);
    storage.output_bytes.push_back(content.size());
    storage.output_ranks.push_back(rank);
  }
  return value;
}

EValue* get_argument(Storage& storage);

EValue* get_list_of_arguments(Storage& storage) {
  std::vector<EValue*>& list = storage.lists.emplace_back(get<uint32_t>());
  for (EValue*& entry : list) entry = get_argument(storage);
  const int count = static_cast<int>(list.size());
  if (storage.takes_optional_tensors) {
    auto* unwrapped = static_cast<MaybeTensor*>(memory_of(storage, (list.size() + 1) * sizeof(MaybeTensor)));
    for (size_t i = 0; i < list.size(); ++i) new (unwrapped + i) MaybeTensor();
    return &storage.values.emplace_back(&storage.maybe_lists.emplace_back(list.data(), unwrapped, count));
  }
  auto* unwrapped = static_cast<Tensor*>(memory_of(storage, (list.size() + 1) * sizeof(Tensor)));
  return &storage.values.emplace_back(&storage.tensor_lists.emplace_back(list.data(), unwrapped, count));
}

EValue* get_integers(Storage& storage) {
  std::vector<EValue*>& list = storage.lists.emplace_back(get<uint32_t>());
  list.reserve(list.size() + 1);  // an empty list has an address, too
  for (EValue*& entry : list) entry = &storage.values.emplace_back(get<int64_t>());
  std::vector<int64_t>& unwrapped = storage.integers.emplace_back(list.size() + 1);
  auto& boxed = storage.integer_lists.emplace_back(list.data(), unwrapped.data(), static_cast<int>(list.size()));
  return &storage.values.emplace_back(&boxed);
}

EValue* get_numbers(Storage& storage) {
  const auto& list = storage.numbers.emplace_back(get_list<double>(get<uint32_t>()));
  return &storage.values.emplace_back(&storage.number_views.emplace_back(list.data(), list.size()));
}

EValue* get_flags(Storage& storage) {
  const size_t count = get<uint32_t>();
  bool* list = storage.flags.emplace_back(new bool[count + 1]).get();
  for (size_t i = 0; i < count; ++i) list[i] = get<uint8_t>() != 0;
  return &storage.values.emplace_back(&storage.flag_views.emplace_back(list, count));
}

EValue* get_string(Storage& storage) {
  const std::string& text = storage.texts.emplace_back(get_text());
  return &storage.values.emplace_back(&storage.text_views.emplace_back(text.data(), text.size()));
}

EValue* get_argument(Storage& storage) {
  switch (get<char>()) {
    case 'i':
      return &storage.values.emplace_back(get<int64_t>());
    case 'd':
      return &storage.values.emplace_back(get<double>());
    case 'b':
      return &storage.values.emplace_back(get<uint8_t>() != 0);
    case 's':
      return get_string(storage);
    case 'I':
      return get_integers(storage);
    case 'D':
      return get_numbers(storage);
    case 'B':
      return get_flags(storage);
    case 't':
      return get_tensor(storage);
    case 'L':
      return get_list_of_arguments(storage);
    case 'v':
      storage.outputs.push_back(&storage.values.emplace_back());
      storage.output_bytes.push_back(SIZE_MAX);
      storage.output_ranks.push_back(0);
      return storage.outputs.back();
    default:
      return &storage.values.emplace_back();
  }
}

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string result_of(const EValue& value) {
  std::string out;
  if (value.isTensor()) {
    const Tensor& tensor = value.toTensor();
    for (const int32_t size : tensor.sizes()) append(out, size);
    append(out, static_cast<uint32_t>(tensor.nbytes()));
    out.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    return out;
  }
  append(out, value.isDouble() ? 'd' : value.isBool() ? 'b' : 'i');
  if (value.isDouble()) append(out, value.toDouble());
  if (value.isBool()) append(out, static_cast<int64_t>(value.toBool()));
  if (value.isInt()) append(out, value.toInt());
  return out;
}

// Whether the kernel has not replaced the caller's output.
bool is_whole(const EValue& value, size_t bytes, size_t rank) {
  if (bytes == SIZE_MAX) return value.isInt() || value.isDouble() || value.isBool();
  if (!value.isTensor()) return false;
  const Tensor& tensor = value.toTensor();
  if (tensor.sizes().size() != rank) return false;
  size_t wanted = tensor.element_size();
  for (const int32_t size : tensor.sizes()) {
    if (size < 0) return false;
    wanted *= static_cast<size_t>(size);
  }
  return wanted == tensor.nbytes() && wanted <= bytes;
}

// Runs in the child. Returns the error byte, and the outputs after it.
std::string called(const std::string& name, Storage& storage, std::vector<EValue*>& arguments) {
  const auto kernel = get_op_function_from_registry(name.c_str());
  if (!kernel.ok()) return std::string(1, static_cast<char>(Error::OperatorMissing));
  auto* memory = static_cast<uint8_t*>(std::malloc(kScratchBytes));  // untouched pages take no memory
  MemoryAllocator scratch(kScratchBytes, memory);
  KernelRuntimeContext context(nullptr, &scratch);
  (*kernel)(context, {arguments.data(), arguments.size()});
  // A generated kernel first counts its arguments and the values that it returns.
  for (size_t i = 0; i < kMaxReturned && context.failure_state() == Error::InvalidProgram; ++i) {
    context.fail(Error::Ok);
    arguments.push_back(&storage.values.emplace_back());
    (*kernel)(context, {arguments.data(), arguments.size()});
  }
  std::string result(1, static_cast<char>(context.failure_state()));
  if (context.failure_state() != Error::Ok) return result;
  for (size_t i = 0; i < storage.outputs.size(); ++i) {
    const EValue& value = *storage.outputs[i];
    // A kernel that wrote beyond its tensors may have overwritten their descriptions.
    if (!is_whole(value, storage.output_bytes[i], storage.output_ranks[i]))
      return std::string(1, static_cast<char>(kProcessEnded));
    result += result_of(value);
  }
  return result;
}

void call_in_a_child(const std::string& name, Storage& storage, std::vector<EValue*>& arguments) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) std::exit(3);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    alarm(kMaxSeconds);
    const std::string result = called(name, storage, arguments);
    for (size_t at = 0; at < result.size();) {
      const ssize_t written = write(pipe_ends[1], result.data() + at, result.size() - at);
      if (written <= 0) _exit(1);
      at += static_cast<size_t>(written);
    }
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string result;
  char block[4096];
  for (ssize_t count = 0; (count = read(pipe_ends[0], block, sizeof block)) > 0;)
    result.append(block, static_cast<size_t>(count));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || result.empty()) result.assign(1, static_cast<char>(kProcessEnded));
  std::fwrite(result.data(), 1, result.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  runtime_init();
  if (argc > 1 && std::strcmp(argv[1], "--names") == 0) {
    for (const Kernel& kernel : get_registered_kernels()) std::printf("%s\n", kernel.name_);
    return 0;
  }
  while (true) {
    const int first = std::fgetc(stdin);
    if (first == EOF) return 0;
    std::ungetc(first, stdin);
    Storage storage;
    const std::string name = get_text();
    storage.takes_optional_tensors = name.rfind("aten::index", 0) == 0;
    std::vector<EValue*> arguments(get<uint32_t>());
    for (EValue*& argument : arguments) argument = get_argument(storage);
    call_in_a_child(name, storage, arguments);
  }
}
