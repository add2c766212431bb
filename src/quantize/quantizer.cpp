#include "quantize/quantizer_internal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "base/parallel/parallel.h"
#include "facts/aten_traits.h"
#include "quantize/cluster_internal.h"
#include "quantize/domains.h"
#include "quantize/fine_weights_internal.h"
#include "quantize/headroom_internal.h"
#include "quantize/known_bounds_internal.h"
#include "quantize/recurrences_internal.h"
#include "quantize/weight_parameters_internal.h"
#include "quantize/weight_rounding_internal.h"
#include "quantize/wide_steps_internal.h"
#include "quantize/wide_tail_internal.h"
#include "tensor/finite.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

class Quantizer {
 public:
  Quantizer(ir::Graph& graph, const Application& with)
      : graph_(graph), with_(with), calibrated_(with.calibrated), left_(with.calibrated.left) {}

  Result<void> run(const Scheme& scheme, const Log& log) {
    CARINA_CHECKED(set_scheme(scheme));
    report_tail(scheme, log);
    set_activations();
    leave_coarse_functions_float(log);
    compare_with_infinity();
    count_readers();
    const std::vector<WeightFigures> figures = weight_figures();
    const FineLayers fine = fine_layers(figures);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!left_.nodes[n]) CARINA_CHECKED(set_weights(graph_.nodes[n], figures[n]));
    }
    keep_results_float();
    add_fine_weights(graph_, fine, log);
    limit_domains(graph_);
    return {};
  }

  [[nodiscard]] std::vector<size_t> measured_groups() const {
    const std::vector<NodeScheme> schemes = schemes_of_groups();
    const std::vector<bool> is_computed = computed_groups();
    std::vector<bool> is_found(graph_.values.size(), false);
    std::vector<size_t> groups;
    const auto find = [&](ValueId id) {
      if (!id.valid() || !is_activation(id.index())) return;
      const size_t group = calibrated_.sharing.group[id.index()];
      if (is_found[group] || !is_computed[group]) return;
      is_found[group] = true;
      if (schemes[group].activations.ranges == RangeChoice::kMeasured) groups.push_back(group);
    };
    std::ranges::for_each(graph_.inputs, find);
    for (const Node& node : graph_.nodes) std::ranges::for_each(node.outputs, find);
    return groups;
  }

  [[nodiscard]] std::vector<size_t> step_groups(bool keeps_state) const {
    if (schemes_.general().activations.tail != Tail::kWide) return {};
    std::vector<bool> is_free = free_groups();
    for (size_t i = 0; i < graph_.states.size() && keeps_state; ++i)
      is_free[calibrated_.sharing.group[graph_.state_input(i).index()]] = false;
    return wide_steps(graph_, tail_request(is_free));
  }

  Result<void> set_scheme(const Scheme& scheme) {
    CARINA_TRY(schemes_, SchemeOf::create(graph_, scheme, with_.options.user_nodes));
    is_weight_ = weights_among_values(graph_, left_);
    find_tail();
    return {};
  }

 private:
  [[nodiscard]] bool is_activation(size_t value) const { return left_.quantized[value] && !is_weight_[value]; }

  // Returns the scheme of a node's results. Nodes that stay float use the general scheme where integers read their
  // results.
  [[nodiscard]] Ranked scheme_of_node(size_t node) const {
    return schemes_.is_left_float(node) ? Ranked{.scheme = schemes_.general(), .rank = 0} : schemes_.node(node);
  }

  // The schemes of groups of values, and the ranks of their sources.
  struct Assigned {
    std::vector<NodeScheme> schemes;
    std::vector<size_t> ranks;
  };

  // Returns for each group of values the scheme with the highest rank among the producers. Groups of constants have the
  // general scheme.
  [[nodiscard]] Assigned assigned() const {
    Assigned all{.schemes = {graph_.values.size(), schemes_.general()}, .ranks = {}};
    all.ranks.resize(graph_.values.size(), 0);
    const auto assign = [&](ValueId id, const Ranked& ranked) {
      if (!id.valid() || !is_activation(id.index())) return;
      const size_t group = calibrated_.sharing.group[id.index()];
      if (ranked.rank <= all.ranks[group]) return;
      all.schemes[group] = *ranked.scheme;
      all.ranks[group] = ranked.rank;
    };
    for (const ValueId input : graph_.inputs) assign(input, schemes_.inputs());
    for (const ValueId output : graph_.outputs) assign(output, schemes_.outputs());
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      for (const ValueId end : {graph_.state_input(i), graph_.state_output(i)}) assign(end, schemes_.state(i));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId output : graph_.nodes[n].outputs) assign(output, scheme_of_node(n));
    }
    return all;
  }

  [[nodiscard]] std::vector<NodeScheme> schemes_of_groups() const {
    Assigned all = assigned();
    widen_squares(all);
    for (const size_t group : tail_) widen(all.schemes[group]);
    follow_operands(all.schemes);
    return std::move(all.schemes);
  }

  // Squares that are only summed up or averaged (in norms) have 16 bits, unless the user says otherwise. Their range is
  // large, so with 8 bits most of them would be one of a few small integers, and the sum would be wrong. 16 bits cost
  // next to nothing here.
  void widen_squares(Assigned& all) const {
    const auto users = ir::users(graph_);
    const std::vector<bool> is_output = ir::is_output(graph_);
    for (const Node& node : graph_.nodes) {
      if (node.op != ir::Op(AtenOp::mul_Tensor) || node.inputs[0] != node.inputs[1]) continue;
      const ValueId square = node.outputs.front();
      const size_t group = calibrated_.sharing.group[square.index()];
      const bool is_summed = !is_output[square.index()] && !users[square.index()].empty() &&
                             std::ranges::all_of(users[square.index()], [&](ir::NodeId user) {
                               const ir::Op op = graph_[user].op;
                               return op == ir::Op(AtenOp::mean_dim) || op == ir::Op(AtenOp::sum_dim_IntList);
                             });
      if (!is_summed || !is_activation(square.index()) || all.ranks[group] > 0 ||
          all.schemes[group].activations.dtype != DType::kInt8)
        continue;
      widen(all.schemes[group]);
    }
  }

  static void widen(NodeScheme& scheme) {
    const NodeScheme wide = **parse_scheme("int16x8");
    scheme.activations = wide.activations;
    scheme.smallest_scale = wide.smallest_scale;
  }

  // The groups that have 8 bits, but may have 16: the general scheme alone says so.
  [[nodiscard]] std::vector<bool> free_groups() const {
    Assigned all = assigned();
    widen_squares(all);
    std::vector<bool> is_free(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const size_t group = calibrated_.sharing.group[v];
      if (is_activation(v))
        is_free[group] = all.ranks[group] == 0 && all.schemes[group].activations.dtype == DType::kInt8;
    }
    return is_free;
  }

  [[nodiscard]] TailRequest tail_request(const std::vector<bool>& is_free) const {
    return {.groups = calibrated_.sharing.group,
            .is_free = is_free,
            .weights_allow = schemes_.general().weights.dtype != DType::kInt4,
            .narrow_outputs = with_.options.narrow_outputs,
            .wide = with_.wide};
  }

  // Finds the groups after the last large layers that get 16 bits, unless the scheme or the user says otherwise, and
  // adds those that have 16 bits in all steps.
  void find_tail() {
    tail_.clear();
    if (schemes_.general().activations.tail != Tail::kWide) return;
    const std::vector<bool> is_free = free_groups();
    std::ranges::set_union(with_.wide, wide_tail(graph_, tail_request(is_free)), std::back_inserter(tail_));
  }

  // Says which nodes' results have 16 bits in a scheme with 8.
  void report_tail(const Scheme& scheme, const Log& log) const {
    if (!with_.wide.empty()) return;  // who asked for them says so
    std::vector<std::string> names;
    for (const Node& node : graph_.nodes) {
      const bool is_wide = std::ranges::any_of(node.outputs, [&](ValueId id) {
        return id.valid() && std::ranges::binary_search(tail_, calibrated_.sharing.group[id.index()]);
      });
      if (is_wide && (names.empty() || names.back() != node.name)) names.push_back(node.name);
    }
    if (names.empty()) return;
    log.note({.where = scheme.name,
              .what = fmt::format("the results of {} have 16 bits: after the last large layers these cost next to "
                                  "nothing, at most 1 % of the cycles",
                                  fmt::join(names, ", ")),
              .hint = "--quantize int8-only keeps 8 bits",
              .severity = Severity::kNote});
  }

  // Constants among the activations have the bits of the other operand of the node that reads them: the NPU takes two
  // operands of one type. Those that several nodes read have the most bits that one of them needs.
  void follow_operands(std::vector<NodeScheme>& schemes) const {
    const std::vector<size_t>& groups = calibrated_.sharing.group;
    std::vector<bool> is_computed = computed_groups(), is_set(graph_.values.size(), false);
    const auto is_operand = [&](ValueId id) { return id.valid() && is_activation(id.index()); };
    for (const Node& node : graph_.nodes) {
      const auto other = std::ranges::find_if(
          node.inputs, [&](ValueId id) { return is_operand(id) && is_computed[groups[id.index()]]; });
      if (other == node.inputs.end()) continue;
      const NodeScheme& wanted = schemes[groups[other->index()]];
      for (const ValueId id : node.inputs) {
        if (!is_operand(id) || is_computed[groups[id.index()]]) continue;
        const size_t group = groups[id.index()];
        if (is_set[group] && wanted.activations.steps() <= schemes[group].activations.steps()) continue;
        schemes[group] = wanted;
        is_set[group] = true;
      }
    }
  }

  // Groups with a value that is no constant.
  [[nodiscard]] std::vector<bool> computed_groups() const {
    std::vector<bool> is_computed(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!graph_.values[v].constant) is_computed[calibrated_.sharing.group[v]] = true;
    }
    return is_computed;
  }

  // Groups whose range does not reach beyond what was seen. What only functions read that saturate needs no headroom.
  [[nodiscard]] std::vector<bool> groups_without_headroom() const {
    const std::vector<size_t>& groups = calibrated_.sharing.group;
    std::vector<bool> is_harmful(graph_.values.size(), false), is_needless(is_harmful), is_needed(is_harmful);
    for (const Node& node : graph_.nodes) {
      const bool is_function = node.op.is_aten() && traits_of(node.op.aten()).family == AtenFamily::kFunction;
      for (const ValueId input : node.inputs) {
        if (!input.valid()) continue;
        const size_t group = groups[input.index()];
        if (!is_function && !node.outputs.empty() && groups[node.outputs.front().index()] == group)
          continue;  // moves elements
        const Headroom headroom = is_function ? headroom_for(node, calibrated_.observers[group]) : Headroom::kNeeded;
        (headroom == Headroom::kHarmful    ? is_harmful
         : headroom == Headroom::kNeedless ? is_needless
                                           : is_needed)[group] = true;
      }
    }
    for (const ValueId output : graph_.outputs) is_needed[groups[output.index()]] = true;
    std::vector<bool> without(graph_.values.size());
    for (size_t v = 0; v < without.size(); ++v) without[v] = is_harmful[v] || (is_needless[v] && !is_needed[v]);
    return without;
  }

  // A group without a node's result is constants only: all of their range counts.
  void set_activations() {
    const std::vector<NodeScheme> schemes = schemes_of_groups();
    const std::vector<size_t>& groups = calibrated_.sharing.group;
    const std::vector<std::optional<double>> bounds = bounds_of_groups();
    const std::vector<std::optional<double>> limits = known_limits(graph_, groups);
    const std::vector<bool> is_computed = computed_groups(), has_no_headroom = groups_without_headroom();
    const auto may_exceed = [&](size_t group) {
      return schemes[group].activations.dtype == DType::kInt16 && is_computed[group] && !has_no_headroom[group] &&
             !bounds[group];
    };
    std::vector<bool> tells_infinity(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      if (meets_infinity(node)) tells_infinity[groups[node.inputs.front().index()]] = true;
    }
    std::vector<size_t> wanted;
    std::vector<bool> is_wanted(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!is_activation(v) || is_wanted[groups[v]]) continue;
      is_wanted[groups[v]] = true;
      wanted.push_back(groups[v]);
    }
    std::vector<std::optional<Quantization>> parameters(graph_.values.size());
    parallel_for(wanted.size(), [&](size_t i) {
      const size_t group = wanted[i];
      const ActivationScheme& integers = schemes[group].activations;
      const RangeObserver& observer = calibrated_.observers[group];
      const RangeChoice wanted_choice =
          integers.ranges == RangeChoice::kMeasured ? with_.measured[group] : integers.ranges;
      const RangeChoice choice = is_computed[group] ? wanted_choice : RangeChoice::kMinMax;
      Range seen = tells_infinity[group] ? observer.with_step_for_infinity(integers.steps())
                                         : with_.ranges.choose(group, observer, choice, integers.steps());
      if (may_exceed(group) && !tells_infinity[group]) seen = with_room(seen, limits[group]);
      parameters[group] = activation_parameters(with_headroom(seen, bounds[group]), schemes[group]);
    });
    widen_states_of_recurrences(graph_, groups, parameters);
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const auto known = with_.options.state_limits.find(graph_.states[i].name);
      const size_t group = groups[graph_.state_input(i).index()];
      if (known == with_.options.state_limits.end() || !parameters[group]) continue;
      parameters[group] = activation_parameters({.min = known->second.min, .max = known->second.max}, schemes[group]);
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (is_activation(v)) graph_.values[v].quantization = parameters[groups[v]];
    }
  }

  // Returns whether the node is x > -infinity, and samples contained -infinity.
  [[nodiscard]] bool meets_infinity(const Node& node) const {
    if (node.op != ir::Op(AtenOp::gt_Tensor) || !is_activation(node.inputs[0].index())) return false;
    const std::optional<Tensor>& limit = graph_[node.inputs[1]].constant;
    return limit && limit->dtype == DType::kFp32 && limit->shape.elements() == 1 &&
           limit->values<float>()[0] == -INFINITY &&
           calibrated_.observers[calibrated_.sharing.group[node.inputs[0].index()]].has_low_infinities();
  }

  // Moves the limit of such comparisons between the lowest integer, which represents only -infinity, and the next one.
  void compare_with_infinity() {
    for (Node& node : graph_.nodes) {
      if (!meets_infinity(node)) continue;
      const Quantization& q = *graph_[node.inputs[0]].quantization;
      const double limit = (static_cast<double>(q.qmin - q.zero_point()) + 0.5) * q.scale();
      node.inputs[1] = graph_.add_constant(
          node.name + "_limit", Tensor::of<float>(DType::kFp32, Shape{}, std::array{static_cast<float>(limit)}));
    }
  }

  // Returns whether a step of the operand's integers is a large part of the function's period, so that the result would
  // be noise.
  [[nodiscard]] bool is_coarse(const Node& node) const {
    constexpr double kCoarse = std::numbers::pi / 4;
    const bool is_periodic = node.op == ir::Op(AtenOp::sin_default) || node.op == ir::Op(AtenOp::cos_default) ||
                             node.op == ir::Op(AtenOp::tan_default);
    return is_periodic && is_activation(node.inputs[0].index()) &&
           graph_[node.inputs[0]].quantization->scale() >= kCoarse;
  }

  void leave_coarse_functions_float(const Log& log) {
    std::vector<bool> left = left_.nodes;
    bool found = false;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (left[n] || !is_coarse(node)) continue;
      found = left[n] = true;
      schemes_.leave_float(n);
      log.note({.where = node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source),
                .what = fmt::format(
                    "the quantization step of {} would be {:.3g}, too large for the period of {}: the node stays float",
                    graph_[node.inputs[0]].name, graph_[node.inputs[0]].quantization->scale(), node.op.name()),
                .hint = "bring the operand into a few periods first, or use 16 bits here (--quantize-at)",
                .severity = Severity::kWarning});
    }
    if (!found) return;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (is_activation(v)) graph_.values[v].quantization.reset();
    }
    left_ = left_float(graph_, left);
    is_weight_ = weights_among_values(graph_, left_);
    find_tail();
    set_activations();
  }

  // Inserts a clone between a node that the user keeps in float and integer readers of its result. Otherwise later
  // stages would treat the node as quantized.
  void keep_results_float() {
    std::vector<Node> nodes;
    for (size_t n = 0; n < schemes_.nodes(); ++n) {
      nodes.push_back(std::move(graph_.nodes[n]));
      if (!schemes_.is_left_float(n)) continue;
      const std::string name = nodes.back().name, source = nodes.back().source;
      const ir::NodeId origin = nodes.back().origin;
      std::vector<Node> clones;
      for (ValueId& output : nodes.back().outputs) {
        if (!output.valid() || !graph_[output].quantization) continue;
        const ValueId quantized = output;
        output = graph_.add_value(name + "_float", graph_[quantized].dtype, Shape(graph_[quantized].shape));
        clones.push_back({.op = AtenOp::clone_default,
                          .name = name,
                          .inputs = {output},
                          .outputs = {quantized},
                          .attributes = {{"memory_format", std::monostate()}},
                          .source = source,
                          .origin = origin});
      }
      std::ranges::move(clones, std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
  }

  std::vector<std::optional<double>> bounds_of_groups() const {
    const auto bound_of_value = known_upper_bounds(graph_, schemes_.general().activations.steps());
    std::vector<std::optional<double>> bounds(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (bound_of_value[v]) bounds[calibrated_.sharing.group[v]] = bound_of_value[v];
    }
    return bounds;
  }

  // Returns the figures of each node. They are independent of each other and are computed on all threads, nodes with
  // most weights first.
  std::vector<WeightFigures> weight_figures() const {
    std::vector<size_t> nodes(graph_.nodes.size());
    std::iota(nodes.begin(), nodes.end(), size_t{0});
    std::ranges::stable_sort(nodes, std::greater(), [&](size_t n) { return weights_of(graph_, graph_.nodes[n]); });
    const std::vector<size_t> same = nodes_with_same_figures();
    std::vector<WeightFigures> figures(graph_.nodes.size());
    parallel_for(nodes.size(), [&](size_t i) {
      const size_t n = nodes[i];
      if (!left_.nodes[n] && same[n] == n) figures[n] = figures_of(n, *scheme_of_node(n).scheme);
    });
    for (size_t n = 0; n < same.size(); ++n) {
      if (same[n] != n) figures[n] = figures[same[n]];
    }
    return figures;
  }

  // Per node: the first node of the same layer (Sharing::layer_of) if its scheme is the same, or the node itself.
  [[nodiscard]] std::vector<size_t> nodes_with_same_figures() const {
    std::vector<size_t> same(graph_.nodes.size());
    std::iota(same.begin(), same.end(), size_t{0});
    const auto producers = ir::producers(graph_);
    for (size_t n = 0; n < same.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (left_.nodes[n] || node.outputs.empty() || !node.outputs.front().valid()) continue;
      const ir::NodeId first = producers[calibrated_.sharing.layer_of[node.outputs.front().index()]];
      if (first.valid() && !left_.nodes[first.index()] &&
          *scheme_of_node(n).scheme == *scheme_of_node(first.index()).scheme)
        same[n] = first.index();
    }
    return same;
  }

  [[nodiscard]] WeightFigures figures_of(size_t n, const NodeScheme& scheme) const {
    const Node& node = graph_.nodes[n];
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role || !is_float_value(graph_, node.inputs.front())) return {};
    const ir::Value& weight = graph_[node.inputs[role->weight]];
    if (!weight.constant || weight.dtype != DType::kFp32) return {};
    const WeightScheme weights = weight_scheme_for(*graph_[node.inputs.front()].quantization,
                                                   *graph_[node.outputs.front()].quantization, scheme.weights);
    if (const WeightFigures* known = with_.figures.find(n, weights, scheme.smallest_scale)) return *known;
    WeightFigures figures = new_figures(node, *role, weights, scheme.smallest_scale);
    with_.figures.add(n, weights, scheme.smallest_scale, figures);
    return figures;
  }

  // Returns the results of the layers whose scheme has weights of 16 bits.
  [[nodiscard]] FineLayers fine_layers(const std::vector<WeightFigures>& figures) const {
    FineLayers layers;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeScheme scheme = *scheme_of_node(n).scheme;
      if (figures[n].role && scheme.weights.dtype == DType::kInt16)
        layers.emplace(graph_.nodes[n].outputs.front(), scheme);
    }
    return layers;
  }

  [[nodiscard]] WeightFigures new_figures(const Node& node, const WeightRole& role, const WeightScheme& weights,
                                          double smallest_scale) const {
    const Tensor floats = *graph_[node.inputs[role.weight]].constant;
    ir::Value weight = graph_[node.inputs[role.weight]];
    WeightFigures figures{.role = role, .parameters = weight_parameters(floats, role.axis, weights, smallest_scale)};
    if (!figures.parameters) return figures;
    const LayerStatistics* statistics = statistics_of(node, floats.shape);
    if (statistics != nullptr && weights.rounding == Rounding::kForInputs)
      weight.constant = figures.rounded =
          rounded_for_inputs(floats, *figures.parameters, *statistics, with_.max_scales);
    if (weights.clusters > 0 && role.axis == 0)
      weight.constant = figures.rounded = clustered(*weight.constant, *figures.parameters, weights.clusters);
    weight.quantization = figures.parameters;
    if (statistics != nullptr && weights.mean_error == MeanError::kTakenFromBias)
      figures.mean_errors = mean_errors(floats, weight, *statistics);
    return figures;
  }

  Result<void> set_weights(Node& node, const WeightFigures& figures) {
    if (!figures.role) return {};
    ir::Value& weight = graph_[node.inputs[figures.role->weight]];
    if (!figures.parameters)
      return fail({.where = fmt::format("{} ({})", node.name, weight.name), .what = "the weights are not finite"});
    weight.quantization = figures.parameters;
    if (figures.rounded) weight.constant = figures.rounded;
    // a copy, since values move when a bias is added
    const Quantization input = *graph_[node.inputs.front()].quantization;
    return set_bias(node, *figures.role, input, figures.mean_errors);
  }

  // Returns the statistics of the layer's inputs; nullptr if calibration did not observe the node as a layer with these
  // weights.
  [[nodiscard]] const LayerStatistics* statistics_of(const Node& node, const Shape& weight) const {
    const size_t result = calibrated_.sharing.layer_of[node.outputs.front().index()];
    // Statistics are of windows that slide over the input. For transposed convolutions the roles are reversed.
    const bool slides = node.op == ir::Op(AtenOp::conv1d_default) || node.op == ir::Op(AtenOp::conv2d_default) ||
                        node.op == ir::Op(AtenOp::linear_default);
    if (!slides || result >= calibrated_.layers.size() || !fits(calibrated_.layers[result], weight)) return nullptr;
    return &calibrated_.layers[result];
  }

  Result<void> set_bias(Node& node, const WeightRole& role, const Quantization& input,
                        const std::vector<double>& mean_errors) {
    const ir::Value weight = graph_[node.inputs[role.weight]];
    const bool has_bias = role.bias < node.inputs.size() && node.inputs[role.bias].valid();
    if (has_bias && (!is_float_value(graph_, node.inputs[role.bias]) || !graph_[node.inputs[role.bias]].constant))
      return {};
    if (has_bias && !are_finite(graph_[node.inputs[role.bias]].constant->values<float>()))
      return fail({.where = fmt::format("{} ({})", node.name, graph_[node.inputs[role.bias]].name),
                   .what = "the bias is not finite"});
    if (!mean_errors.empty()) correct_bias(node, role, mean_errors);
    if (role.bias < node.inputs.size() && node.inputs[role.bias].valid())
      graph_[node.inputs[role.bias]].quantization =
          bias_parameters(input, *weight.quantization, graph_[node.inputs[role.bias]].shape.elements());
    return {};
  }

  // Counts for each value how often it is an operand or an output.
  void count_readers() {
    readers_.assign(graph_.values.size(), 0);
    const auto count = [&](ValueId id) {
      if (id.valid()) ++readers_[id.index()];
    };
    for (const Node& node : graph_.nodes) std::ranges::for_each(node.inputs, count);
    for (const ValueId output : graph_.outputs) {
      count(output);
      count(output);  // counted twice, so that an output never counts as having a single reader
    }
  }

  void correct_bias(Node& node, const WeightRole& role, const std::vector<double>& errors) {
    const auto channels = static_cast<int64_t>(errors.size());
    if (node.inputs.size() <= role.bias) node.inputs.resize(role.bias + 1);
    ValueId& bias = node.inputs[role.bias];
    MutableTensor corrected(DType::kFp32, Shape{channels});
    const auto to = corrected.values<float>();
    for (size_t c = 0; c < errors.size(); ++c) {
      const double now = bias.valid() ? graph_[bias].constant->values<float>()[c] : 0;
      to[c] = static_cast<float>(now - errors[c]);
    }
    if (!bias.valid())
      bias = graph_.add_constant(node.name + "_bias", std::move(corrected).freeze());
    else if (readers_[bias.index()] == 1)
      graph_[bias].constant = std::move(corrected).freeze();
    else {
      --readers_[bias.index()];
      bias = graph_.add_constant(graph_[bias].name, std::move(corrected).freeze());
    }
  }

  ir::Graph& graph_;
  const Application& with_;
  const Calibrated& calibrated_;
  SchemeOf schemes_;
  LeftFloat left_;
  std::vector<bool> is_weight_;
  std::vector<size_t> tail_;     // groups with 16 bits in a scheme with 8, in ascending order
  std::vector<size_t> readers_;  // per value
};

}  // namespace

Result<void> apply_scheme(ir::Graph& graph, const Scheme& scheme, const Application& with, const Log& log) {
  return Quantizer(graph, with).run(scheme, log);
}

Result<std::vector<size_t>> step_groups(ir::Graph& graph, const Scheme& scheme, const Application& with,
                                        bool keeps_state) {
  Quantizer quantizer(graph, with);
  CARINA_CHECKED(quantizer.set_scheme(scheme));
  return quantizer.step_groups(keeps_state);
}

Result<std::vector<size_t>> measured_groups(ir::Graph& graph, const Scheme& scheme, const Application& with) {
  Quantizer quantizer(graph, with);
  CARINA_CHECKED(quantizer.set_scheme(scheme));
  return quantizer.measured_groups();
}

bool is_float_value(const ir::Graph& graph, ValueId id) {
  return id.valid() && graph[id].dtype == DType::kFp32;
}

// Per value: whether it is the weights or the bias of a node that computes with integers.
std::vector<bool> weights_among_values(const ir::Graph& graph, const LeftFloat& left) {
  std::vector<bool> is_weight(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role || left.nodes[n]) continue;
    for (const size_t i : {role->weight, role->bias}) {
      if (i < node.inputs.size() && is_float_value(graph, node.inputs[i]) && graph[node.inputs[i]].constant)
        is_weight[node.inputs[i].index()] = true;
    }
  }
  return is_weight;
}

}  // namespace carina::quantize
