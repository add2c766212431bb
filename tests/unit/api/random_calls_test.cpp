// Random calls of the C++ API, of Session and of the C API with hostile arguments. Each call returns a value or
// diagnostics, and no diagnostic says "a mistake of Carina". CARINA_RANDOM_CALLS sets the number of calls,
// CARINA_RANDOM_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "carina/carina.h"
#include "carina/files.h"
#include "carina/names.h"
#include "carina/session.h"
#include "carina/tosa_interpreter.h"
#include "tests/unit/api/small_programs.h"

namespace carina::api {
namespace {

uint64_t number_of(const char* variable, uint64_t by_default) {
  const char* text = std::getenv(variable);
  return text == nullptr ? by_default : std::strtoull(text, nullptr, 10);
}

// The model and programs that the calls use, made once.
struct Material {
  std::vector<std::byte> pt2 = pt2::small_model().archive();
  Model model = imported(pt2::small_model());
  Model quantized = quantized_model();
  std::vector<std::byte> pte = small_pte();
  Partition parts = *partition(quantized, kTarget);
  std::vector<std::byte> tosa = parts.delegates.at(0);
  DelegateBlob blob = *compile_delegate(tosa, kTarget);
};

// Draws arguments. Most of them are valid, so that calls get beyond the first check.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t count) { return random_() % count; }
  bool one_in(uint64_t count) { return below(count) == 0; }

  template <typename T>
  T any_of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

  int threads() {
    return one_in(4) ? any_of({0, -1, 1025, 1 << 30, std::numeric_limits<int>::min()}) : any_of({1, 2, 3});
  }
  int64_t number() {
    return any_of<int64_t>({0, 1, -1, 7, 100, 1 << 20, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min(), static_cast<int64_t>(random_())});
  }
  std::string text() {
    return any_of<std::string>({"", "forward", "int8", "ethos-u55-128", "ethos-u85-256", "Shared_Sram", "%s%n",
                                "\xff\xfe", std::string(3000, 'a'), std::string("a\0b", 3), "../../x"});
  }

  TargetNames target() {
    TargetNames names{
        .accelerator = one_in(5) ? text() : any_of<std::string>({"ethos-u55-128", "ethos-u65-256", "ethos-u85-256"})};
    if (one_in(5)) names.system_config = text();
    if (one_in(5)) names.memory_mode = text();
    if (one_in(5)) names.arena_cache_bytes = number();
    if (one_in(6)) names.ini.push_back({.name = text(), .text = Buffer::copy_of(junk(60))});
    return names;
  }

  std::vector<std::byte> junk(size_t max) {
    std::vector<std::byte> bytes(below(max + 1));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  // A file that is valid, cut short, changed in some bytes, or random.
  std::vector<std::byte> damaged(std::vector<std::byte> bytes) {
    if (one_in(3)) return bytes;
    if (one_in(4)) return junk(200);
    if (one_in(3)) bytes.resize(below(bytes.size() + 1));
    for (uint64_t i = below(4); i > 0 && !bytes.empty(); --i)
      bytes[below(bytes.size())] = static_cast<std::byte>(random_());
    return bytes;
  }

  Shape shape() {
    std::vector<int64_t> sizes(below(5));
    for (int64_t& size : sizes) size = any_of<int64_t>({0, 1, 2, 3, -1, int64_t{1} << 40});
    return Shape(sizes);
  }
  Tensor tensor() {
    if (one_in(2)) return sample(static_cast<float>(below(5)), -1)[0];
    const auto dtype = static_cast<DType>(below(static_cast<uint64_t>(kDTypeCount)));
    return {.dtype = one_in(2) ? DType::kFp32 : dtype,
            .shape = one_in(2) ? Shape{1, 2} : shape(),
            .data = Buffer::copy_of(junk(32))};
  }
  Sample inputs() {
    Sample sample(one_in(6) ? below(4) : 1);
    for (Tensor& one : sample) one = tensor();
    return sample;
  }
  Log log() {
    Log log;
    if (one_in(12)) log.note = nullptr;
    if (one_in(12)) log.progress = nullptr;
    if (one_in(12)) log.progress = [](std::string_view, size_t, size_t) { throw 3; };
    if (one_in(12)) log.note = [](const Diagnostic&) { throw std::runtime_error("of a test"); };
    return log;
  }
  QuantizeOptions quantize_options() {
    QuantizeOptions options{.mode = static_cast<QuantizeMode>(one_in(5) ? below(256) : below(3)), .threads = threads()};
    quantize::NodeScheme& scheme = options.scheme.general;
    if (one_in(4)) scheme.activations.dtype = static_cast<DType>(below(256));
    if (one_in(6)) scheme.activations.qmin = number();
    if (one_in(6)) scheme.activations.qmax = number();
    if (one_in(6)) scheme.weights.qmin = number();
    if (one_in(6)) scheme.smallest_scale = any_of({0.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::quiet_NaN()});
    if (one_in(6)) scheme.activations.ranges = static_cast<quantize::RangeChoice>(below(256));
    if (one_in(4))
      options.scheme.overrides.push_back(
          {.of = static_cast<quantize::Override::Of>(below(8)), .name = text(), .scheme = {}});
    return options;
  }
  CompileOptions compile_options() {
    CompileOptions options;
    options.delegate.threads = threads();
    if (one_in(4)) options.delegate.arena_budget_bytes = number();
    if (one_in(4)) options.delegate.optimize = static_cast<Optimize>(below(5));
    options.delegate.layers = one_in(3);
    options.delegate.artifacts = one_in(4);
    if (one_in(4)) options.partition.delegates = static_cast<DelegateMode>(below(5));
    if (one_in(5)) options.partition.cpu_nodes.push_back(text());
    if (one_in(5)) options.partition.cpu_ops.push_back(text());
    if (one_in(8)) options.partition.cpu_modules.push_back(text());
    return options;
  }

 private:
  std::mt19937_64 random_;
};

uint64_t values = 0;  // calls that returned a value

template <typename T>
std::optional<std::string> internal_error(const Result<T>& result) {
  if (result) {
    ++values;
    return std::nullopt;
  }
  for (const Diagnostic& error : result.error()) {
    if (error.fault == Fault::kInternal) return to_string(result.error());
  }
  if (result.error().empty()) return "no diagnostic";
  return std::nullopt;
}

std::optional<std::string> call_compiler(Draw& draw, const Material& of) {
  const Log log = draw.log();
  switch (draw.below(8)) {
    case 0:
      return internal_error(import_pt2(Buffer::copy_of(draw.damaged(of.pt2)), draw.text(), log));
    case 1: {
      const std::vector<Sample> samples(draw.below(3), draw.inputs());
      return internal_error(quantize(of.model, samples, draw.quantize_options(), log));
    }
    case 2:
      return internal_error(
          compile(draw.one_in(3) ? of.model : of.quantized, draw.target(), draw.compile_options(), log));
    case 3:
      return internal_error(partition(of.quantized, draw.target(), draw.compile_options().partition, log));
    case 4:
      return internal_error(
          compile_delegate(draw.damaged(of.tosa), draw.target(), draw.compile_options().delegate, log));
    case 5:
      return internal_error(package_tosa(draw.damaged(of.tosa), draw.target(), draw.compile_options().delegate, log));
    case 6:
      return internal_error(read_flags("--accelerator-config=" + draw.text() + " --optimise " + draw.text(), log));
    default: {
      const std::vector<Sample> samples(draw.below(3), draw.inputs());
      return internal_error(explain(Buffer::copy_of(draw.damaged(of.pt2)), draw.text(), samples, draw.target(),
                                    draw.compile_options(), log));
    }
  }
}

std::optional<std::string> call_parts(Draw& draw, const Material& of) {
  const Log log = draw.log();
  switch (draw.below(4)) {
    case 0: {
      Partition parts = of.parts;
      if (draw.one_in(6)) parts.program = nullptr;
      if (draw.one_in(6)) parts.delegates.clear();
      std::vector<DelegateBlob> blobs(draw.one_in(4) ? draw.below(3) : 1, of.blob);
      for (DelegateBlob& blob : blobs) {
        blob.blob = draw.damaged(blob.blob);
        if (draw.one_in(5)) blob.backend_id = draw.text();
        if (draw.one_in(5)) blob.compile_specs.emplace_back(draw.text(), draw.text());
      }
      const auto program = package(parts, blobs);
      if (!program) return internal_error(program);
      return internal_error(run(Buffer::copy_of(*program), draw.inputs(), {}, log));
    }
    case 1: {
      Model model = of.quantized;
      if (draw.one_in(4)) Model(std::move(model));
      if (const auto wrong = internal_error(to_tosa(model, draw.target(), log))) return wrong;  // NOLINT: moved from
      static_cast<void>(inputs(model));
      const std::map<std::string, std::string> locations{{draw.text(), draw.text()}};
      return internal_error(to_traced_tosa(model, draw.target(), locations, log));
    }
    case 2: {
      const std::string path = draw.one_in(2) ? draw.text() : "/dev/null";
      if (const auto wrong = internal_error(read_samples(path, inputs(of.model)))) return wrong;
      if (const auto wrong = internal_error(read_arrays(path))) return wrong;
      return internal_error(open_file(path));
    }
    default: {
      const auto value = static_cast<uint8_t>(draw.below(256));
      const bool named = !name_of(static_cast<Fault>(value)).empty() &&
                         !options::name_of(static_cast<Optimize>(value)).empty() &&
                         !options::name_of(static_cast<DelegateMode>(value)).empty() &&
                         !options::name_of(static_cast<QuantizeMode>(value)).empty() &&
                         !options::name_of(static_cast<options::CpuKernels>(value)).empty() &&
                         !results::name_of(static_cast<results::RunsOn>(value)).empty();
      return named ? std::nullopt : std::optional<std::string>("an enumerator without a name");
    }
  }
}

std::optional<std::string> call_session(Draw& draw, const Material& of) {
  const Log log = draw.log();
  SessionOptions options{.timed = draw.one_in(3), .threads = draw.threads()};
  if (draw.one_in(4)) options.method = draw.text();
  if (draw.one_in(6)) options.data.push_back(Buffer::copy_of(draw.junk(100)));
  if (draw.one_in(6)) options.memories = draw.target();
  const std::vector<std::byte> file = draw.damaged(of.pte);
  if (draw.one_in(20)) return internal_error(Session::load_file(draw.text(), options, log));
  auto session = draw.one_in(3) ? Session::load_in_place(std::span(file).subspan(draw.one_in(4) ? file.size() / 2 : 0),
                                                         options, log)
                                : Session::load(Buffer::copy_of(file), options, log);
  if (!session) return internal_error(session);
  std::stop_source stop;
  if (draw.one_in(10)) stop.request_stop();
  if (draw.one_in(5)) {
    auto clone = session->clone();
    if (!clone) return internal_error(clone);
    std::swap(*session, *clone);
  }
  if (draw.one_in(15)) {
    const Session taken = std::move(*session);  // calls of a session that was moved from are errors
  }
  for (uint64_t i = draw.below(3) + 1; i > 0; --i) {
    if (auto wrong = internal_error(session->run(draw.inputs(), stop.get_token()))) return wrong;
  }
  std::vector<std::byte> in = draw.junk(16);
  std::vector<std::byte> out(draw.one_in(3) ? draw.below(40) : 8);
  const std::vector<std::span<const std::byte>> inputs(draw.one_in(4) ? draw.below(4) : 1, in);
  const std::vector<std::span<std::byte>> outputs(draw.one_in(4) ? draw.below(4) : 1, out);
  if (auto wrong = internal_error(session->run_into(inputs, outputs))) return wrong;
  if (auto wrong = internal_error(session->report())) return wrong;
  return internal_error(session->reset());
}

std::optional<std::string> call_run(Draw& draw, const Material& of) {
  const Log log = draw.log();
  if (draw.one_in(3)) {
    auto interpreter =
        TosaInterpreter::load(Buffer::copy_of(draw.damaged(of.tosa)),
                              {.threads = draw.threads(), .level = draw.one_in(5) ? draw.text() : "8K"}, log);
    if (!interpreter) return internal_error(interpreter);
    return internal_error(interpreter->run(draw.inputs()));
  }
  RunOptions options{.timed = draw.one_in(3), .threads = draw.threads()};
  if (draw.one_in(6)) options.memories = draw.target();
  return internal_error(run(Buffer::copy_of(draw.damaged(of.pte)), draw.inputs(), options, log));
}

// Functions of the C API that return no fault, with any arguments.
void look_at(const carina_session* session, Draw& draw) {
  carina_tensor_info info = CARINA_TENSOR_INFO_INIT;
  const size_t index = draw.any_of<size_t>({0, 1, 7, SIZE_MAX});
  static_cast<void>(carina_session_input(session, index, draw.one_in(4) ? nullptr : &info));
  static_cast<void>(carina_session_output(session, index, draw.one_in(4) ? nullptr : &info));
  static_cast<void>(carina_session_inputs(session) + carina_session_outputs(session));
  static_cast<void>(carina_target_name(index));
}

std::optional<std::string> call_c(Draw& draw, const Material& of) {
  const std::vector<std::byte> file = draw.damaged(draw.one_in(2) ? of.pte : of.pt2);
  const carina_bytes bytes{.data = draw.one_in(8) ? nullptr : file.data(), .size = file.size()};
  const std::string text = draw.text();
  carina_error* error = nullptr;
  carina_fault fault = CARINA_OK;
  if (draw.one_in(2)) {
    carina_compile_options options;
    carina_compile_options_init(&options);
    options.target = draw.one_in(4) ? text.c_str() : "ethos-u55-128";
    options.scheme = draw.one_in(4) ? text.c_str() : nullptr;
    options.threads = draw.threads();
    options.arena_budget_bytes = draw.one_in(4) ? draw.number() : 0;
    const carina_option option{
        .name = draw.any_of<const char*>({"optimize", "cpu-node", "legalize", "quantize-at", "check", "io", nullptr}),
        .value = draw.one_in(4) ? nullptr : text.c_str()};
    options.options = draw.one_in(8) ? nullptr : &option;
    options.option_count = draw.one_in(4) ? 1 : 0;
    const std::vector<std::byte> data = draw.junk(16);
    const std::vector<carina_bytes> samples(draw.below(3), {.data = data.data(), .size = data.size()});
    carina_program* program = nullptr;
    fault = carina_compile(bytes, draw.one_in(8) ? nullptr : samples.data(), samples.size(),
                           draw.one_in(8) ? nullptr : &options, draw.one_in(8) ? nullptr : &program, &error);
    if (draw.one_in(3)) {
      carina_program_free(program);
      carina_error_free(error);
      program = nullptr;
      error = nullptr;
      const std::vector<std::byte> graph = draw.damaged(of.tosa);
      fault = carina_compile_tosa({.data = graph.data(), .size = graph.size()}, draw.one_in(8) ? nullptr : &options,
                                  draw.one_in(8) ? nullptr : &program, &error);
    }
    static_cast<void>(carina_program_pte(program));
    static_cast<void>(carina_program_delegates(program));
    static_cast<void>(carina_program_cycles(program));
    carina_program_free(program);
  } else if (draw.one_in(12)) {
    carina_session* session = nullptr;
    fault = carina_session_load_file(draw.one_in(4) ? nullptr : text.c_str(), nullptr, &session, &error);
    carina_session_free(session);
  } else {
    carina_session* session = nullptr;
    fault = carina_session_load(bytes, draw.one_in(4) ? text.c_str() : nullptr, &session, &error);
    look_at(session, draw);
    if (session != nullptr && draw.one_in(5)) {
      carina_session* clone = nullptr;
      if (carina_session_clone(session, draw.one_in(5) ? nullptr : &clone, nullptr) == CARINA_OK)
        std::swap(session, clone);
      carina_session_free(clone);
    }
    if (session != nullptr) {
      std::vector<std::byte> memory(draw.one_in(2) ? 8 : draw.below(40));
      const carina_bytes input{.data = memory.data(), .size = memory.size()};
      const carina_memory output{.data = draw.one_in(5) ? nullptr : memory.data(), .size = memory.size()};
      fault =
          carina_session_run(session, draw.one_in(6) ? nullptr : &input, draw.one_in(5) ? 0 : 1, &output, 1, &error);
    }
    if (fault == CARINA_OK && draw.one_in(2)) fault = carina_session_reset(draw.one_in(4) ? nullptr : session, &error);
    carina_session_free(session);
  }
  values += fault == CARINA_OK ? 1 : 0;
  const std::string reason = carina_error_text(error);
  carina_error_free(error);
  if (fault == CARINA_FAULT_INTERNAL) return reason;
  return std::nullopt;
}

TEST(RandomCalls, none_is_mistake_of_carina) {
  const uint64_t calls = number_of("CARINA_RANDOM_CALLS", 300);
  const uint64_t first = number_of("CARINA_RANDOM_SEED", 1);
  const Material material;
  for (uint64_t seed = first; seed < first + calls; ++seed) {
    Draw draw(seed);
    std::optional<std::string> wrong;
    switch (draw.below(5)) {
      case 0:
        wrong = call_compiler(draw, material);
        break;
      case 3:
        wrong = call_parts(draw, material);
        break;
      case 1:
        wrong = call_session(draw, material);
        break;
      case 2:
        wrong = call_run(draw, material);
        break;
      default:
        wrong = call_c(draw, material);
    }
    EXPECT_FALSE(wrong.has_value()) << "CARINA_RANDOM_SEED=" << seed
                                    << " CARINA_RANDOM_CALLS=1: " << wrong.value_or("");
  }
  if (calls >= 100) {
    EXPECT_GT(values, calls / 10) << "the arguments are too wild: few calls get beyond their checks";
  }
}

}  // namespace
}  // namespace carina::api
