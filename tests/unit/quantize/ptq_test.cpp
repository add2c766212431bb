#include "quantize/ptq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "base/parallel/parallel.h"
#include "facts/lowering_targets.h"
#include "graphs.h"
#include "lower/lower.h"
#include "normalize/normalize.h"

namespace carina::quantize {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Samples = std::vector<std::vector<Tensor>>;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(DType::kFp32, shape, values);
}

PtqOptions with(RangeChoice ranges) {
  PtqOptions options;
  options.scheme.general.activations.ranges = ranges;
  return options;
}

void run(GraphBuilder& b, const Samples& samples, const PtqOptions& options = with(RangeChoice::kMinMax)) {
  const auto done = quantize(b.graph, samples, options, {});
  ASSERT_TRUE(done) << to_string(done.error());
}

TEST(Ptq, parameters_equal_pytorch_observers) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 4});
  b.graph.outputs = {b.node(AtenOp::neg_default, "y", {x}, {1, 4})};
  run(b, {{floats({1, 4}, {-1, 0, 0.5F, 3})}, {floats({1, 4}, {-2, 0, 0, 1})}});
  const float scale = 5.0F / 255;
  EXPECT_EQ(b.quantization("x").scale(), double{scale});
  EXPECT_EQ(b.quantization("x").zero_point(), -128 + std::lround(2 / scale));
  EXPECT_EQ(b.quantization("y").zero_point(), -128 + std::lround(3 / scale));
  EXPECT_EQ(b.quantization("y").dtype, DType::kInt8);
}

TEST(Ptq, positive_values_use_whole_range) {
  GraphBuilder b;
  b.graph.outputs = {b.relu("y", b.input("x", {2}))};
  run(b, {{floats({2}, {1, 255})}});
  EXPECT_EQ(b.quantization("x").zero_point(), -128);
  EXPECT_EQ(b.quantization("x").scale(), 1.0);
}

TEST(Ptq, weights_are_symmetric_per_channel_with_matching_bias) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto w = b.constant<float>("w", {2, 2}, {1, -127, 0.5F, 0.25F});
  const auto bias = b.constant<float>("b", {2}, {1, 2});
  b.graph.outputs = {b.linear("y", x, w, bias)};
  run(b, {{floats({1, 2}, {-1, 1.55F})}});
  EXPECT_THAT(b.quantization("w").scales, ElementsAre(1.0, double{0.5F / 127}));
  EXPECT_THAT(b.quantization("w").zero_points, ElementsAre(0, 0));
  EXPECT_EQ(b.quantization("w").axis, 0);
  EXPECT_EQ(b.quantization("w").qmin, -127);
  EXPECT_EQ(b.quantization("b").dtype, DType::kInt32);
  EXPECT_THAT(b.quantization("b").scales,
              ElementsAre(b.quantization("x").scale(), b.quantization("x").scale() * b.quantization("w").scales[1]));
  EXPECT_EQ(b.value("w").constant->dtype, DType::kFp32);
}

TEST(Ptq, activation_sets_range_of_its_input) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto sum = b.add("sum", x, x);
  b.graph.outputs = {b.relu("y", sum)};
  run(b, {{floats({2}, {-100, 10})}});
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("y").scale()), 20.0F / 255);
  EXPECT_EQ(b.quantization("sum"), b.quantization("y"));
}

// The inputs are near 1, and all weights are rounded up. The average error is subtracted from the bias.
TEST(Ptq, bias_absorbs_mean_rounding_error) {
  const auto bias_of = [](MeanError error) {
    GraphBuilder b;
    const auto x = b.input("x", {2, 2});
    const auto w = b.constant<float>("w", {1, 2}, {127, 0.75F});
    b.graph.outputs = {b.linear("y", x, w, b.constant<float>("b", {1}, {5}))};
    PtqOptions options = with(RangeChoice::kMinMax);
    options.scheme.general.weights.mean_error = error;
    run(b, {{floats({2, 2}, {1, 1, 2, 3})}}, options);
    return b.value("b").constant->values<float>()[0];
  };
  EXPECT_EQ(bias_of(MeanError::kKept), 5);
  EXPECT_FLOAT_EQ(bias_of(MeanError::kTakenFromBias), 5 - 0.25F * 2);
}

TEST(Ptq, layer_without_bias_gets_one_for_mean_error) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto y = b.node(AtenOp::linear_default, "y", {x, b.constant<float>("w", {1, 2}, {127, 0.75F})}, {1, 1});
  b.graph.outputs = {y};
  run(b, {{floats({1, 2}, {1, 2})}});
  ASSERT_EQ(b.graph.nodes[0].inputs.size(), 3U);
  EXPECT_FLOAT_EQ(b.graph[b.graph.nodes[0].inputs[2]].constant->values<float>()[0], -0.5F);
}

// Two convolutions with batch norms. The second has more weights than a thread processes at a time.
ir::Graph two_convolutions() {
  GraphBuilder b;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto noise = [&](const std::string& name, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (float& value : values) value = normal(random);
    return b.constant<float>(name, shape, values);
  };
  const auto layer = [&](const std::string& name, ir::ValueId x, int64_t from, int64_t to, int64_t kernel) {
    const Shape shape{1, to, 4, 4};
    const int64_t pad = kernel / 2;
    const auto sum =
        b.node(AtenOp::conv2d_default, name, {x, noise(name + "_w", {to, from, kernel, kernel}), {}}, shape,
               {{"stride", std::vector<int64_t>{1, 1}},
                {"padding", std::vector<int64_t>{pad, pad}},
                {"dilation", std::vector<int64_t>{1, 1}},
                {"groups", int64_t{1}}});
    const auto variance = b.constant<float>(name + "_var", {to}, std::vector<float>(static_cast<size_t>(to), 2.5F));
    const auto gamma = noise(name + "_gamma", {to}), beta = noise(name + "_beta", {to}),
               mean = noise(name + "_mean", {to});
    return b.node(AtenOp::batch_norm_default, name + "_bn", {sum, gamma, beta, mean, variance}, shape,
                  {{"training", false}, {"momentum", 0.1}, {"eps", 1e-5}, {"cudnn_enabled", false}});
  };
  const auto first = layer("first", b.input("x", {1, 67, 4, 4}), 67, 130, 1);
  b.graph.outputs = {layer("second", first, 130, 260, 3)};
  return b.graph;
}

TEST(Ptq, thread_count_does_not_change_tosa) {
  const lower::Target npu{.name = "npu", .limits = kU55Lowering.limits, .idioms = kU55Lowering.idioms};
  std::vector<float> values(67 * 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  std::vector<ir::Graph> made;
  for (const int threads : {1, 2, 3}) {
    const ScopedThreadPool scope(threads);
    ir::Graph graph = two_convolutions();
    ASSERT_TRUE(normalize::normalize(graph, Log{}));
    PtqOptions options;
    options.threads = threads;
    const Samples samples{{floats({1, 67, 4, 4}, values)}};
    const auto done = quantize(graph, samples, options, {});
    ASSERT_TRUE(done) << to_string(done.error());
    auto tosa = lower::to_tosa(graph, npu, Log{});
    ASSERT_TRUE(tosa) << to_string(tosa.error());
    made.push_back(std::move(tosa->graph));
  }
  int64_t weights = 0;
  for (size_t v = 0; v < made[0].values.size(); ++v) {
    const std::optional<Tensor>& constant = made[0].values[v].constant;
    if (!constant) continue;
    weights += constant->elements();
    EXPECT_TRUE(identical(*constant, *made[1].values[v].constant)) << made[0].values[v].name;
    EXPECT_TRUE(identical(*constant, *made[2].values[v].constant)) << made[0].values[v].name;
  }
  EXPECT_GT(weights, 130 * 67 + 260 * 130 * 9);
}

// The message names the first weight in the model, wherever the element is and whichever thread finds it first.
TEST(Ptq, non_finite_weights_are_errors_in_model_order) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
    for (const size_t at : {0u, 5u, 20u, 39u}) {
      GraphBuilder b;
      std::vector<float> small(40, 1), large(2 * 20, 1);
      small[at] = large[39 - at] = bad;
      const auto x = b.input("x", {1, 20});
      const auto y =
          b.linear("first", x, b.constant<float>("w1", {2, 20}, small), b.constant<float>("b1", {2}, {0, 0}));
      const auto z =
          b.linear("second", x, b.constant<float>("w2", {2, 20}, large), b.constant<float>("b2", {2}, {0, 0}));
      b.graph.outputs = {y, z};
      PtqOptions options = with(RangeChoice::kMinMax);
      options.threads = 2;
      const auto done = quantize(b.graph, Samples{{floats({1, 20}, std::vector<float>(20, 0))}}, options, {});
      ASSERT_FALSE(done);
      EXPECT_THAT(to_string(done.error()), AllOf(HasSubstr("the weights are not"), HasSubstr("w1")));
    }
  }
}

// One input is twice the other, so only w0 + 2 w1 matters. Rounding for these inputs hits it, and rounding to nearest
// misses it by half a step.
TEST(Ptq, rounding_for_inputs_reduces_error) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> inputs;
  for (int i = 0; i < 64; ++i) {
    const float first = normal(random);
    inputs.insert(inputs.end(), {first, 2 * first, normal(random)});
  }
  const auto error = [&](Rounding rounding) {
    GraphBuilder b;
    const auto x = b.input("x", {64, 3});
    const std::vector<float> weights{0.45F, 0.26F, 1.27F};
    b.graph.outputs = {b.linear("y", x, b.constant<float>("w", {1, 3}, weights), b.constant<float>("b", {1}, {0}))};
    PtqOptions options = with(RangeChoice::kMinMax);
    options.scheme.general.weights = {.dtype = DType::kInt4, .qmin = -7, .qmax = 7, .rounding = rounding};
    run(b, {{floats({64, 3}, inputs)}}, options);
    const ir::Value& w = b.value("w");
    double total = 0;
    for (size_t i = 0; i < 3; ++i) {
      const double step = rounding == Rounding::kNearest ? std::nearbyint(weights[i] / w.quantization->scale())
                                                         : static_cast<double>(w.constant->values<int8_t>()[i]);
      total += i == 2 ? 0 : (step * w.quantization->scale() - weights[i]) * (i == 1 ? 2 : 1);
    }
    return std::abs(total);
  };
  EXPECT_LT(error(Rounding::kForInputs), 0.5 * error(Rounding::kNearest));
}

TEST(Ptq, value_read_before_activation_keeps_its_range) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto sum = b.add("sum", x, x);
  b.graph.outputs = {b.relu("y", sum), b.node(AtenOp::neg_default, "z", {sum}, {2})};
  run(b, {{floats({2}, {-100, 10})}});
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("sum").scale()), 220.0F / 255);
}

TEST(Ptq, moved_and_concatenated_values_share_parameters) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto y = b.input("y", {1, 2});
  const auto cat = b.node(AtenOp::cat_default, "cat", {x, y}, {1, 4}, {{"dim", int64_t{1}}});
  b.graph.outputs = {b.node(AtenOp::view_default, "v", {cat}, {2, 2}, {{"size", std::vector<int64_t>{2, 2}}})};
  run(b, {{floats({1, 2}, {0, 1}), floats({1, 2}, {0, 255})}});
  for (const char* name : {"x", "y", "cat", "v"}) EXPECT_EQ(b.quantization(name).scale(), 1.0) << name;
}

TEST(Ptq, prelu_has_parameters_of_its_operand) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto slopes = b.constant<float>("slopes", {1, 2}, {0.5F, 0.25F});
  const auto product = b.node(AtenOp::mul_Tensor, "product", {x, slopes}, {1, 2});
  b.graph.outputs = {b.node(AtenOp::maximum_default, "y", {x, product}, {1, 2})};
  run(b, {{floats({1, 2}, {-5, 250})}});
  for (const char* name : {"x", "product", "y"}) EXPECT_EQ(b.quantization(name).scale(), 1.0) << name;
}

TEST(Ptq, constant_factor_is_exact) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  b.graph.outputs = {b.node(AtenOp::mul_Tensor, "y", {x, b.constant<float>("c", {}, {0.1F})}, {2})};
  run(b, {{floats({2}, {-1, 1})}});
  const Quantization& q = b.quantization("c");
  EXPECT_NEAR((127 - static_cast<double>(q.zero_point())) * q.scale(), 0.1, 1e-8);
}

TEST(Ptq, shared_weights_have_a_bias_scale_per_node) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto w = b.constant<float>("w", {2, 2}, {1, 0, 0, 1});
  const auto bias = b.constant<float>("b", {2}, {100, 200});
  const auto y = b.linear("y", x, w, bias);
  b.graph.outputs = {b.linear("z", y, w, bias)};
  run(b, {{floats({1, 2}, {-1, 1})}});
  const Quantization& first = *b.graph[b.graph.nodes[0].inputs[2]].quantization;
  const Quantization& second = *b.graph[b.graph.nodes[1].inputs[2]].quantization;
  EXPECT_NE(first.scales, second.scales);
  EXPECT_EQ(b.graph[b.graph.nodes[0].inputs[1]].constant->data.data(),
            b.graph[b.graph.nodes[1].inputs[1]].constant->data.data());
}

// The mean square error of the sample after rounding with these parameters.
double error_of(const std::vector<float>& sample, const Quantization& q) {
  double sum = 0;
  for (const float x : sample) {
    const double step = std::clamp(std::nearbyint(x / q.scale()) + static_cast<double>(q.zero_point()), -128.0, 127.0);
    const double error = (step - static_cast<double>(q.zero_point())) * q.scale() - x;
    sum += error * error;
  }
  return sum / static_cast<double>(sample.size());
}

TEST(Ptq, histogram_clips_where_it_reduces_error) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> sample(1'000'000);
  for (float& x : sample) x = uniform(random);
  sample[7] = 2;
  const auto parameters = [&](RangeChoice choice) {
    GraphBuilder b;
    b.graph.outputs = {b.relu("y", b.input("x", {1'000'000}))};
    run(b, {{floats({1'000'000}, sample)}}, with(choice));
    return b.quantization("x");
  };
  const Quantization whole = parameters(RangeChoice::kMinMax), part = parameters(RangeChoice::kHistogram);
  EXPECT_LT(part.scale(), whole.scale());
  EXPECT_LT(error_of(sample, part), 0.7 * error_of(sample, whole));
}

TEST(Ptq, percentile_ignores_outliers) {
  std::vector<float> sample(100'000);
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<float>(i) / 100'000;
  sample[7] = 50;
  GraphBuilder b;
  b.graph.outputs = {b.relu("y", b.input("x", {100'000}))};
  run(b, {{floats({100'000}, sample)}}, with(RangeChoice::kPercentile));
  EXPECT_NEAR(b.quantization("x").scale() * 255, 1, 0.05);
}

TEST(Ptq, moving_average_follows_slowly) {
  GraphBuilder b;
  b.graph.outputs = {b.unary(AtenOp::neg_default, "y", b.input("x", {2}))};
  run(b, {{floats({2}, {0, 1})}, {floats({2}, {0, 2})}}, with(RangeChoice::kMovingAverage));
  EXPECT_NEAR(b.quantization("x").scale() * 255, 1.01, 1e-5);
}

TEST(Ptq, functions_with_steps_above_a_period_stay_float) {
  const auto warnings = [](float max) {
    GraphBuilder b;
    b.graph.outputs = {b.unary(AtenOp::tan_default, "y", b.input("x", {2}))};
    std::string said;
    Log log;
    log.note = [&](const Diagnostic& note) { said += note.what; };
    EXPECT_TRUE(quantize(b.graph, Samples{{floats({2}, {-max, max})}}, with(RangeChoice::kMinMax), log));
    return said;
  };
  EXPECT_THAT(warnings(1e6F), HasSubstr("the node stays float"));
  EXPECT_THAT(warnings(1), testing::Not(HasSubstr("the node stays float")));
}

TEST(Ptq, order_of_samples_does_not_matter) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  Samples samples;
  for (int s = 0; s < 6; ++s) {
    std::vector<float> sample(500);
    for (float& x : sample) x = normal(random) * static_cast<float>(std::exp2(4 * s - 12));
    samples.push_back({floats({500}, sample)});
  }
  const auto parameters = [&] {
    GraphBuilder b;
    b.graph.outputs = {b.relu("y", b.input("x", {500}))};
    run(b, samples, with(RangeChoice::kHistogram));
    return b.quantization("x");
  };
  const Quantization forwards = parameters();
  std::ranges::reverse(samples);
  EXPECT_EQ(parameters(), forwards);
}

TEST(Ptq, constant_values_get_a_wider_range) {
  const auto scale = [](const Samples& samples) {
    GraphBuilder b;
    b.graph.outputs = {b.relu("y", b.input("x", {2}))};
    run(b, samples, with(RangeChoice::kHistogram));
    return b.quantization("x").scale();
  };
  EXPECT_FLOAT_EQ(static_cast<float>(scale({{floats({2}, {0, 0})}})), 1.0F / 65536);
  EXPECT_FLOAT_EQ(static_cast<float>(scale({{floats({2}, {0, 0})}, {floats({2}, {0, 255})}})), 1.0F);
  EXPECT_FLOAT_EQ(static_cast<float>(scale({{floats({2}, {1e-30F, 0})}, {floats({2}, {2.55e30F, 2.55e30F})}})), 1e28F);
}

TEST(Ptq, infinities_of_masks_are_limited) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  b.graph.outputs = {b.add("y", x, b.constant<float>("mask", {2}, {0, -std::numeric_limits<float>::infinity()}))};
  run(b, {{floats({2}, {1, 2})}});
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("mask").scale()), 16.0F / 255);
}

TEST(Ptq, values_outside_domain_are_excluded) {
  GraphBuilder b;
  b.graph.outputs = {b.unary(AtenOp::log_default, "y", b.input("x", {3}))};
  run(b, {{floats({3}, {std::exp(1.0F), 0, -1})}});
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("y").scale()), 1.0F / 255);
}

TEST(Ptq, fixed_domains_are_not_exceeded) {
  const auto scale = [](float largest) {
    GraphBuilder b;
    b.graph.outputs = {b.unary(AtenOp::acos_default, "y", b.input("x", {3}))};
    run(b, {{floats({3}, {-largest, 0, largest})}});
    return static_cast<float>(b.quantization("x").scale());
  };
  EXPECT_FLOAT_EQ(scale(1), 2.0F / 256);
  EXPECT_FLOAT_EQ(scale(3), 2.0F / 256);
  EXPECT_LT(scale(0.25F), 0.6F / 256);
}

TEST(Ptq, wrong_samples_are_named) {
  const auto rejection = [](const Samples& samples) {
    GraphBuilder b;
    b.graph.outputs = {b.relu("y", b.input("x", {2}))};
    const auto done = quantize(b.graph, samples, {}, {});
    return done ? "accepted" : to_string(done.error());
  };
  EXPECT_THAT(rejection({}), HasSubstr("there is no sample"));
  EXPECT_THAT(rejection({{}}), HasSubstr("calibration sample 0: wrong number of inputs: expected 1, got 0"));
  EXPECT_THAT(rejection({{floats({2}, {1, 2})}, {floats({3}, {1, 2, 3})}}),
              HasSubstr("calibration sample 1: input x does not fit: expected fp32 [2], got fp32 [3]"));
  EXPECT_THAT(rejection({{floats({2}, {1, std::nanf("")})}}), HasSubstr("not numbers"));
}

TEST(Ptq, integer_model_is_unchanged) {
  GraphBuilder b;
  const auto x = b.input("x", {2}, DType::kInt32);
  b.graph.outputs = {b.node(AtenOp::add_Tensor, "y", {x, x}, {2}, {{"alpha", int64_t{1}}}, DType::kInt32)};
  run(b, {{Tensor::of<int32_t>(DType::kInt32, Shape{2}, std::vector<int32_t>{1, 2})}});
  EXPECT_FALSE(b.value("y").quantization);
}

TEST(Scheme, int8_scheme_equals_arm_quantizer) {
  const NodeScheme scheme;
  EXPECT_EQ(scheme.activations.steps(), 255);
  EXPECT_EQ(scheme.weights.qmin, -127);
  EXPECT_EQ(scheme.smallest_scale, 1.0 / 65536);
}

TEST(Scheme, symmetric_activations_have_zero_in_the_middle) {
  GraphBuilder b;
  b.graph.outputs = {b.node(AtenOp::neg_default, "y", {b.input("x", {2})}, {2})};
  PtqOptions options = with(RangeChoice::kMinMax);
  options.scheme.general.activations.symmetry = Symmetry::kSymmetric;
  options.scheme.general.activations.qmin = -127;
  run(b, {{floats({2}, {-254, 10})}}, options);
  EXPECT_EQ(b.quantization("x").zero_point(), 0);
  EXPECT_EQ(b.quantization("x").scale(), 2.0);
  EXPECT_EQ(b.quantization("x").qmin, -127);
}

TEST(Scheme, per_tensor_weights_have_one_scale) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  b.graph.outputs = {
      b.linear("y", x, b.constant<float>("w", {2, 2}, {1, -127, 0.5F, 0.25F}), b.constant<float>("b", {2}, {1, 2}))};
  PtqOptions options = with(RangeChoice::kMinMax);
  options.scheme.general.weights.granularity = Granularity::kPerTensor;
  run(b, {{floats({1, 2}, {-1, 1.55F})}}, options);
  EXPECT_THAT(b.quantization("w").scales, ElementsAre(1.0));
  EXPECT_FALSE(b.quantization("w").per_channel());
  EXPECT_THAT(b.quantization("b").scales, ElementsAre(b.quantization("x").scale()));
}

TEST(Scheme, override_changes_one_node) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto y = b.node(AtenOp::neg_default, "y", {x}, {2});
  b.graph.outputs = {b.node(AtenOp::neg_default, "z", {y}, {2})};
  PtqOptions options = with(RangeChoice::kMinMax);
  NodeScheme symmetric = options.scheme.general;
  symmetric.activations.symmetry = Symmetry::kSymmetric;
  options.scheme.overrides = {{.of = Override::Of::kNode, .name = "y", .scheme = symmetric}};
  run(b, {{floats({2}, {-1, 3})}}, options);
  EXPECT_EQ(b.quantization("y").zero_point(), 0);
  EXPECT_NE(b.quantization("x").zero_point(), 0);
  EXPECT_NE(b.quantization("z").zero_point(), 0);
}

TEST(Scheme, float_nodes_pass_floats_on) {
  GraphBuilder b;
  const auto x = b.node(AtenOp::neg_default, "x", {b.input("in", {2})}, {2});
  const auto y = b.node(AtenOp::tanh_default, "y", {x}, {2});
  b.graph.outputs = {b.node(AtenOp::neg_default, "z", {y}, {2})};
  PtqOptions options = with(RangeChoice::kMinMax);
  options.scheme.overrides = {{.of = Override::Of::kOperator, .name = "aten.tanh.default", .scheme = {}}};
  run(b, {{floats({2}, {-1, 3})}}, options);
  EXPECT_THAT(b.ops(), ElementsAre("aten.neg.default", "aten.tanh.default", "aten.clone.default", "aten.neg.default"));
  EXPECT_FALSE(b.graph[b.graph.nodes[1].outputs[0]].quantization);
  EXPECT_TRUE(b.graph[b.graph.nodes[2].outputs[0]].quantization);
}

TEST(Scheme, contradictions_are_all_reported) {
  GraphBuilder b;
  b.graph.outputs = {b.node(AtenOp::neg_default, "y", {b.input("x", {2})}, {2})};
  PtqOptions options;
  options.scheme.general.activations = {.dtype = DType::kInt16, .qmin = -32768, .qmax = 32767};
  options.scheme.overrides = {{.of = Override::Of::kNode, .name = "conv", .scheme = {}},
                              {.of = Override::Of::kInputs, .name = {}, .scheme = {}}};
  const std::vector<std::vector<Tensor>> samples{{floats({2}, {-1, 3})}};
  const auto rejected = quantize(b.graph, samples, options, {});
  ASSERT_FALSE(rejected);
  ASSERT_EQ(rejected.error().size(), 3U);
  EXPECT_THAT(to_string(rejected.error()), AllOf(HasSubstr("without zero points"), HasSubstr("the node conv"),
                                                 HasSubstr("inputs cannot be left float")));
}

PtqOptions of_words(const std::string& words, const std::vector<std::string>& overrides = {}) {
  PtqOptions options;
  options.scheme.general = **parse_scheme(words);
  for (const std::string& text : overrides) options.scheme.overrides.push_back(*parse_override(text));
  return options;
}

TEST(Scheme, int16_activations_are_symmetric_with_48_bit_bias) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  b.graph.outputs = {b.linear("y", x, b.constant<float>("w", {1, 2}, {1, -127}), b.constant<float>("b", {1}, {1}))};
  run(b, {{floats({1, 2}, {-1, 32.767F})}}, of_words("int16x8"));
  EXPECT_EQ(b.quantization("x").dtype, DType::kInt16);
  EXPECT_EQ(b.quantization("x").zero_point(), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("x").scale()), 2e-3F);  // twice the observed range
  EXPECT_EQ(b.quantization("w").dtype, DType::kInt8);
  EXPECT_EQ(b.quantization("b").dtype, DType::kInt48);
}

TEST(Scheme, operands_of_tables_have_the_observed_range) {
  GraphBuilder b;
  b.graph.outputs = {b.node(AtenOp::tanh_default, "y", {b.input("x", {1, 2})}, {1, 2})};
  run(b, {{floats({1, 2}, {-1, 32.767F})}}, of_words("int16x8"));
  EXPECT_FLOAT_EQ(static_cast<float>(b.quantization("x").scale()), 1e-3F);
}

TEST(Scheme, constants_have_bits_of_the_other_operand) {
  GraphBuilder b;
  const auto x = b.node(AtenOp::neg_default, "x", {b.input("i", {1, 2})}, {1, 2});
  const auto factor = b.constant<float>("factor", {1, 2}, {1, 2});
  b.graph.outputs = {b.node(AtenOp::mul_Tensor, "y", {x, factor}, {1, 2})};
  run(b, {{floats({1, 2}, {-1, 1})}}, of_words("int8", {"node:x=int16x8"}));
  EXPECT_EQ(b.quantization("factor").dtype, DType::kInt16);
  EXPECT_EQ(b.quantization("y").dtype, DType::kInt8);
}

TEST(Scheme, int4_weights_with_int16_activations_become_int8) {
  const auto weights_of = [](const std::vector<std::string>& overrides) {
    GraphBuilder b;
    const auto x = b.input("x", {1, 2});
    b.graph.outputs = {b.linear("y", x, b.constant<float>("w", {1, 2}, {1, -7}), b.constant<float>("b", {1}, {1}))};
    run(b, {{floats({1, 2}, {-1, 1})}}, of_words("int8x4", overrides));
    return b.quantization("w");
  };
  EXPECT_EQ(weights_of({}).dtype, DType::kInt4);
  EXPECT_EQ(weights_of({}).qmax, 7);
  EXPECT_EQ(weights_of({"inputs=int16x8"}).dtype, DType::kInt8);
  EXPECT_EQ(weights_of({"inputs=int16x8"}).qmax, 127);
}

// 1, -0.3 and 0.7: -0.3 is 38.1 of 127 steps, and the second layer has the 0.1.
TEST(Scheme, sixteen_bit_weights_are_two_layers) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 3});
  b.graph.outputs = {
      b.linear("y", x, b.constant<float>("w", {1, 3}, {1, -0.3F, 0.7F}), b.constant<float>("b", {1}, {1}))};
  run(b, {{floats({1, 3}, {-1, 1, 0.5F})}}, of_words("int16x16"));
  ASSERT_EQ(b.graph.nodes.size(), 3U);
  const auto& [coarse, fine, sum] = std::tie(b.graph.nodes[0], b.graph.nodes[1], b.graph.nodes[2]);
  EXPECT_EQ(sum.op, ir::Op(AtenOp::add_Tensor));
  EXPECT_EQ(sum.inputs, (std::vector{coarse.outputs[0], fine.outputs[0]}));
  EXPECT_EQ(sum.outputs, b.graph.outputs);
  EXPECT_EQ(fine.inputs[0], x);
  EXPECT_FALSE(fine.inputs[2].valid());  // the first layer adds the bias
  const ir::Value &steps = b.graph[coarse.inputs[1]], &missing = b.graph[fine.inputs[1]];
  const auto integers = steps.constant->values<int8_t>();
  EXPECT_EQ(std::vector(integers.begin(), integers.end()), (std::vector<int8_t>{127, -38, 89}));
  for (size_t i = 0; i < 3; ++i) {
    const double wanted = std::array{1.0, -0.3, 0.7}[i];
    EXPECT_NEAR(integers[i] * steps.quantization->scale() + missing.constant->values<float>()[i], wanted, 1e-7);
  }
  EXPECT_EQ(missing.quantization->dtype, DType::kInt8);
  EXPECT_LT(missing.quantization->scale(), steps.quantization->scale() / 200);
  EXPECT_EQ(b.graph[coarse.outputs[0]].quantization, b.graph[sum.outputs[0]].quantization);
  EXPECT_EQ(b.graph[fine.outputs[0]].quantization, b.graph[sum.outputs[0]].quantization);
}

TEST(Scheme, sixteen_bit_weights_need_a_result_of_16_bits) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  b.graph.outputs = {b.linear("y", x, b.constant<float>("w", {1, 2}, {1, -0.3F}), b.constant<float>("b", {1}, {1}))};
  std::vector<Diagnostic> found;
  Log log;
  log.note = [&](const Diagnostic& note) { found.push_back(note); };
  const Samples samples{{floats({1, 2}, {-1, 1})}, {floats({1, 2}, {1, -1})}};
  ASSERT_TRUE(quantize(b.graph, samples, of_words("int16x16", {"outputs=int8"}), log));
  EXPECT_EQ(b.graph.nodes.size(), 1U);
  EXPECT_EQ(b.quantization("w").dtype, DType::kInt8);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].where, "y");
}

TEST(Scheme, shared_parameters_share_last_override) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto y = b.node(AtenOp::neg_default, "y", {x}, {2});
  b.graph.outputs = {b.node(AtenOp::view_default, "z", {y}, {2}, {{"size", std::vector<int64_t>{2}}})};
  run(b, {{floats({2}, {-1, 3})}}, of_words("int8", {"node:y=int16x8", "outputs=int8+symmetric"}));
  EXPECT_EQ(b.quantization("y"), b.quantization("z"));
  EXPECT_EQ(b.quantization("y").dtype, DType::kInt8);
  EXPECT_EQ(b.quantization("y").qmin, -127);
}

TEST(Scheme, modules_are_those_of_user_model) {
  const auto types = [](const std::string& override) {
    GraphBuilder b;
    const auto x = b.input("x", {2});
    const auto y = b.node(AtenOp::neg_default, "y", {x}, {2});
    b.graph.outputs = {b.node(AtenOp::neg_default, "z", {y}, {2})};
    b.graph.nodes[0].origin = ir::NodeId(1);
    b.graph.nodes[1].origin = ir::NodeId(0);
    PtqOptions options = of_words("int8", {override});
    options.user_nodes = {{.name = "last", .op = "aten.tan.default", .modules = {}},
                          {.name = "first",
                           .op = "aten.neg.default",
                           .modules = {{"net", "my.Net"}, {"net.0", "torch.nn.modules.activation.ReLU"}}}};
    run(b, {{floats({2}, {-1, 3})}}, options);
    return std::pair(b.quantization("y").dtype, b.quantization("z").dtype);
  };
  const std::pair first(DType::kInt16, DType::kInt8), last(DType::kInt8, DType::kInt16);
  for (const char* selector : {"module:net", "module:net.0", "type:ReLU", "type:my.Net", "node:first", "node:y"})
    EXPECT_EQ(types(std::string(selector) + "=int16x8"), first) << selector;
  for (const char* selector : {"op:aten.tan.default", "node:last"})
    EXPECT_EQ(types(std::string(selector) + "=int16x8"), last) << selector;
}

TEST(Scheme, unknown_names_are_reported) {
  const auto said = [](const auto& result) { return result ? std::string("accepted") : to_string(result.error()); };
  EXPECT_THAT(said(parse_scheme("int9")), HasSubstr("expected int8 (a8w8), int16x8 (a16w8)"));
  EXPECT_EQ((*parse_scheme("int8+rounded-for-inputs"))->weights.rounding, Rounding::kForInputs);
  EXPECT_THAT(said(parse_scheme("int8+perchannel")), HasSubstr("got perchannel"));
  EXPECT_THAT(said(parse_override("conv=int8")), HasSubstr("expected node, op, module, type, inputs, outputs"));
  EXPECT_THAT(said(parse_override("node=int8")), HasSubstr("expected node:NAME"));
  EXPECT_THAT(said(parse_override("inputs:x=int8")), HasSubstr("expected inputs"));
  EXPECT_THAT(said(parse_override("node:x")), HasSubstr("SELECTOR=SCHEME"));
  EXPECT_FALSE(parse_override("node:x=float")->scheme);
}

std::vector<Diagnostic> warnings_of(const std::vector<float>& first, const std::vector<float>& second) {
  GraphBuilder b;
  b.graph.outputs = {b.node(AtenOp::neg_default, "y", {b.input("x", {2})}, {2})};
  std::vector<Diagnostic> warnings;
  Log log;
  log.note = [&](const Diagnostic& note) { warnings.push_back(note); };
  const Samples samples{{floats({2}, first)}, {floats({2}, second)}};
  PtqOptions options;
  options.data = "data.npz";
  EXPECT_TRUE(quantize(b.graph, samples, options, log));
  return warnings;
}

TEST(Ptq, uninformative_data_are_a_warning) {
  EXPECT_TRUE(warnings_of({0, 0}, {0, 1}).empty());
  for (const auto& warnings :
       {warnings_of({0, 0}, {0, 0}), warnings_of({3, 3}, {3, 3}), warnings_of({1e-40F, 0}, {0, 0})}) {
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_EQ(warnings[0].severity, Severity::kWarning);
    EXPECT_EQ(warnings[0].where, "data.npz");
    EXPECT_THAT(warnings[0].what, HasSubstr("input x"));
    EXPECT_THAT(warnings[1].what, HasSubstr("output y"));
  }
}

TEST(Ptq, half_precision_model_is_one_error) {
  GraphBuilder b;
  const auto x = b.input("x", {2}, DType::kFp16);
  b.graph.outputs = {b.node(AtenOp::neg_default, "y", {x}, {2}, {}, DType::kFp16)};
  const std::vector<std::vector<Tensor>> samples{
      {Tensor::of<uint16_t>(DType::kFp16, {2}, std::vector<uint16_t>{0, 0})}};
  const auto rejected = quantize(b.graph, samples, {}, {});
  ASSERT_FALSE(rejected);
  EXPECT_THAT(to_string(rejected.error()), AllOf(HasSubstr("fp16"), HasSubstr("model.float()")));
}

}  // namespace
}  // namespace carina::quantize
