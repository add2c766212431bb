// Writes several methods as one program: the plans of all, the constants once, the states that they share in one place.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/checked_math.h"
#include "base/hash/content_hash.h"
#include "facts/executorch.h"
#include "pte/methods_internal.h"

namespace carina::pte {

namespace {

// A state as a method's program keeps it.
struct Kept {
  DType dtype = DType::kUnknown;
  Shape shape;
  Buffer initial;

  bool operator==(const Kept& other) const {
    return dtype == other.dtype && shape == other.shape && std::ranges::equal(initial.bytes(), other.initial.bytes());
  }
};

Kept kept_by(const ir::Graph& graph, size_t state) {
  const ir::Value& value = graph[graph.state_input(state)];
  const size_t bytes = tensor_bytes(value.dtype, value.shape);
  return {.dtype = value.dtype, .shape = value.shape, .initial = graph.states[state].initial.data.slice(0, bytes)};
}

std::unexpected<Diagnostics> differs(const std::string& state, const std::string& method, const Kept& first,
                                     const Kept& other) {
  const auto text = [](const Kept& kept) { return fmt::format("{} {}", name_of(kept.dtype), to_string(kept.shape)); };
  const bool same_type = first.dtype == other.dtype && first.shape == other.shape;
  return fail({.where = fmt::format("{}: {}", method, state),
               .what = same_type ? "the methods of a program share this state, with other initial values"
                                 : "the methods of a program share this state, with other types or shapes",
               .expected = text(first),
               .got = text(other),
               .hint = "export all methods from one module, and quantize them with one scheme"});
}

// Gives each state that two methods have a place.
Result<SharedStates> shared_states(std::span<const MethodGraph> methods) {
  std::map<std::string, Kept> first;
  SharedStates shared;
  for (const MethodGraph& method : methods) {
    for (size_t i = 0; i < method.graph.states.size(); ++i) {
      const std::string& name = method.graph.states[i].name;
      const Kept kept = kept_by(method.graph, i);
      const auto [known, is_new] = first.emplace(name, kept);
      if (is_new) continue;
      if (known->second != kept) return differs(name, method.name, known->second, kept);
      if (!shared.offsets.emplace(name, static_cast<uint64_t>(shared.bytes)).second) continue;
      shared.bytes +=
          static_cast<int64_t>(round_up<uint64_t>(tensor_bytes(kept.dtype, kept.shape), kPtePlannedAlignmentBytes));
    }
  }
  return shared;
}

// Appends the plan of `part`, whose constants join those of the program.
class Joiner {
 public:
  explicit Joiner(Program& program) : program_(program) { program_.constants.resize(1); }

  void append(Program part, const std::string& name) {
    std::vector<uint32_t> index{0};
    for (const Buffer& constant : std::span(part.constants).subspan(1)) index.push_back(index_of(constant));
    Plan& plan = part.plans.front();
    plan.name = name;
    for (Value& value : plan.values) {
      if (auto* tensor = std::get_if<TensorSpec>(&value)) tensor->constant = index[tensor->constant];
    }
    program_.plans.push_back(std::move(plan));
  }

 private:
  uint32_t index_of(const Buffer& constant) {
    std::vector<uint32_t>& alike = by_hash_[content_hash(constant.bytes())];
    for (const uint32_t known : alike) {
      if (std::ranges::equal(program_.constants[known].bytes(), constant.bytes())) return known;
    }
    alike.push_back(static_cast<uint32_t>(program_.constants.size()));
    program_.constants.push_back(constant);
    return alike.back();
  }

  Program& program_;
  std::map<uint64_t, std::vector<uint32_t>> by_hash_;
};

}  // namespace

Result<Program> emit_methods(std::span<const MethodGraph> methods, CpuKernels kernels) {
  CARINA_TRY(const SharedStates shared, shared_states(methods));
  Program program;
  Joiner joiner(program);
  for (const MethodGraph& method : methods) {
    CARINA_TRY(Program part, emit_with(method.graph, method.delegates, kernels, shared));
    joiner.append(std::move(part), method.name);
  }
  return program;
}

}  // namespace carina::pte
