#include "accelerate/host_kernels.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "accelerate/int8_internal.h"
#include "carina/buffer.h"

namespace carina::accelerate {

namespace {

using runtime::Error;
using runtime::MethodCalls;

// What all steps use, one after another.
struct Shared {
  Workers workers;
  MutableBuffer scratch;
};

// The only argument of a replaced call: the step and what it uses. They are stored in a string value.
struct Bound {
  std::unique_ptr<Step> step;
  Shared* shared = nullptr;
  EValue handle;
  EValue* arguments[1] = {};
};

Error run_step(Arguments arguments, runtime::Arena& /*scratch*/) {
  const auto* bound = reinterpret_cast<const Bound*>(arguments[0]->text);
  return bound->step->run(bound->shared->workers, bound->shared->scratch.bytes().data());
}

// Kernels that only move data or change its type. For constants they are run at load.
constexpr std::string_view kMovers[] = {
    "aten::_to_copy.out",
    "aten::clone.out",
    "aten::expand_copy.out",
    "aten::permute_copy.out",
    "aten::squeeze_copy.dim_out",
    "aten::squeeze_copy.dims_out",
    "aten::t_copy.out",
    "aten::transpose_copy.int_out",
    "aten::unsqueeze_copy.out",
    "aten::view_copy.out",
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
};

// For each value of the table, the number of calls that have it as an argument, and whether it is an output of the
// method. A call has its output twice among its arguments, because its result is repeated at the end.
class Uses {
 public:
  explicit Uses(const MethodCalls& calls) {
    for (size_t i = 0; i < calls.size(); ++i) {
      std::set<const EValue*> values;
      for (const EValue* value : calls.arguments(i)) {
        values.insert(value);
        if (value->kind == EValue::Kind::kTensorList) values.insert(value->tensors.begin(), value->tensors.end());
      }
      for (const EValue* value : values) ++counts_[value];
    }
    for (size_t i = 0; i < calls.outputs(); ++i) ++counts_[calls.output(i)];
  }
  [[nodiscard]] int of(const EValue* value) const {
    const auto found = counts_.find(value);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::map<const EValue*, int> counts_;
};

}  // namespace

struct HostKernels::State {
  explicit State(int threads) : shared{.workers = Workers(threads), .scratch = MutableBuffer::allocate(0)} {}

  Shared shared;
  size_t scratch_bytes = 0;
  std::deque<Bound> bound;
  std::deque<std::vector<std::max_align_t>> constants;
  size_t replaced = 0;

  void install(MethodCalls& calls, size_t call, std::unique_ptr<Step> step) {
    Bound& own = bound.emplace_back();
    own.step = std::move(step);
    own.shared = &shared;
    scratch_bytes = std::max(scratch_bytes, own.step->scratch_bytes());
    own.handle = EValue(reinterpret_cast<const char*>(&own));
    own.arguments[0] = &own.handle;
    calls.replace(call, run_step, own.arguments);
    ++replaced;
  }

  // Runs movers of constants at load. Their results become constants with memory of their own, because planned memory
  // would be reused.
  void hoist_constants(MethodCalls& calls, const Uses& uses) {
    for (size_t i = 0; i < calls.size(); ++i) {
      const Arguments arguments = calls.arguments(i);
      if (std::ranges::find(kMovers, calls.name(i)) == std::end(kMovers) || arguments.size() < 2) continue;
      EValue& out = *arguments.back();
      // Only this call may write the output. A second writer counts as a use that is not a read; then the output keeps
      // its planned memory.
      if (!is_constant(*arguments[0]) || !out.is_tensor() || out.tensor.read_only || out.tensor.resizable ||
          writers(calls, &out) != 1 || uses.of(&out) < 2)
        continue;
      auto& memory = constants.emplace_back(out.tensor.bytes() / sizeof(std::max_align_t) + 1);
      void* const planned = out.tensor.data;
      out.tensor.data = memory.data();
      runtime::Arena none;
      if (calls.kernel(i)(arguments, none) == Error::kOk) {
        out.tensor.read_only = true;
        calls.drop(i);
        ++replaced;
      } else {
        out.tensor.data = planned;  // the call sets it again when it runs
      }
    }
  }

  // Returns the number of calls that have `value` as their last argument, directly or in a list of outputs.
  static int writers(const MethodCalls& calls, const EValue* value) {
    int count = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      const Arguments arguments = calls.arguments(i);
      count += !arguments.empty() && arguments.back() == value ? 1 : 0;
    }
    return count;
  }

  // The next call after `call`, if reading `value` first is the only use of `value` in the rest of the method.
  static size_t only_reader(const MethodCalls& calls, const Uses& uses, size_t call, const EValue* value) {
    size_t next = call + 1;
    while (next < calls.size() && calls.name(next).empty()) ++next;
    const bool reads = next < calls.size() && !calls.arguments(next).empty() && calls.arguments(next)[0] == value;
    return reads && uses.of(value) == 2 ? next : calls.size();
  }

  static bool takes_batch_norm(const MethodCalls& calls, size_t call) {
    if (call >= calls.size() || calls.name(call) != "aten::_native_batch_norm_legit_no_training.out") return false;
    const Arguments arguments = calls.arguments(call);
    if (arguments.size() < 8) return false;
    for (const size_t at : {1, 2, 3, 4}) {
      const bool absent = at < 3 && arguments[at]->is_none();
      if (!absent && !(is_plain(*arguments[at]) && is_constant(*arguments[at]))) return false;
    }
    const auto channels = arguments[3]->tensor.elements();
    const auto fits = [&](size_t at) {
      return arguments[at]->is_none() || arguments[at]->tensor.elements() == channels;
    };
    return fits(1) && fits(2) && fits(4) && is_fixed(*arguments[0]) && arguments[0]->tensor.rank() >= 2 &&
           static_cast<size_t>(arguments[0]->tensor.sizes()[1]) == channels && is_fixed(*arguments[7]);
  }

  static bool is_convolution(const MethodCalls& calls, size_t call) {
    return call < calls.size() && calls.name(call) == "aten::convolution.out" && calls.arguments(call).size() >= 10;
  }

  // Returns a convolution with the batch norm and the clamp that follow it. `last` becomes the last of these calls.
  static ConvolutionCall with_tail(const MethodCalls& calls, const Uses& uses, size_t call, size_t& last) {
    ConvolutionCall taken{.arguments = calls.arguments(call), .tail = {}};
    Tail& tail = taken.tail;
    tail.out = taken.arguments[9];
    last = call;
    if (const size_t next = only_reader(calls, uses, last, tail.out); takes_batch_norm(calls, next)) {
      tail.batch_norm = calls.arguments(next);
      tail.out = tail.batch_norm[7];
      last = next;
    }
    Bounds bounds;
    EValue* clamped = nullptr;
    const size_t next = only_reader(calls, uses, last, tail.out);
    if (next < calls.size() && bounds_of_clamp(calls.name(next), calls.arguments(next), bounds, clamped)) {
      tail.bounds = bounds;
      tail.out = clamped;
      last = next;
    }
    return taken;
  }

  [[nodiscard]] int threads() const { return shared.workers.threads(); }

  std::unique_ptr<Step> convolution_step(const MethodCalls& calls, const Uses& uses, size_t call, size_t& last) const {
    const ConvolutionCall first = with_tail(calls, uses, call, last);
    if (const size_t next = only_reader(calls, uses, last, first.tail.out); is_convolution(calls, next)) {
      size_t second_last = next;
      const ConvolutionCall second = with_tail(calls, uses, next, second_last);
      if (auto step = make_convolution_pair(first, second, threads())) {
        last = second_last;
        return step;
      }
    }
    return make_convolution(first.arguments, first.tail, threads());
  }

  // Replaces a convolution and the calls fused into it. Returns false if the convolution is not replaced.
  bool take_convolution(MethodCalls& calls, const Uses& uses, size_t call) {
    size_t last = call;
    auto step = convolution_step(calls, uses, call, last);
    if (step == nullptr) return false;
    for (size_t i = call; i < last; ++i) {
      if (calls.name(i).empty()) continue;
      calls.drop(i);
      ++replaced;
    }
    install(calls, last, std::move(step));
    return true;
  }
};

HostKernels::HostKernels(int threads) : state_(std::make_unique<State>(threads)) {}
HostKernels::~HostKernels() = default;

size_t HostKernels::replaced() const {
  return state_->replaced;
}

void HostKernels::rewrite(runtime::MethodCalls& calls) {
  state_->bound.clear();
  state_->constants.clear();
  state_->replaced = 0;
  state_->scratch_bytes = 0;
  if (!calls.straight()) return;
  const Uses uses(calls);
  state_->hoist_constants(calls, uses);
  choose_image_layouts(calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (State::is_convolution(calls, i) && state_->take_convolution(calls, uses, i)) continue;
    if (calls.name(i).empty()) continue;  // fused into an earlier call
    auto step = make_call(calls.name(i), calls.arguments(i), state_->threads());
    if (step == nullptr) step = make_int8_call(calls.name(i), calls.arguments(i), state_->threads());
    if (step != nullptr) state_->install(calls, i, std::move(step));
  }
  state_->shared.scratch = MutableBuffer::allocate(state_->scratch_bytes);
}

}  // namespace carina::accelerate
