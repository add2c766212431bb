// Wrong arguments of a call are errors of the caller (Fault::kUsage), and the call does nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <utility>

#include "carina/names.h"
#include "carina/session.h"
#include "carina/version.h"
#include "tests/unit/api/small_programs.h"

namespace carina::api {
namespace {

using testing::HasSubstr;

template <typename T>
void expect_usage(const Result<T>& result, const std::string& text) {
  ASSERT_FALSE(result.has_value());
  for (const Diagnostic& error : result.error()) EXPECT_EQ(error.fault, Fault::kUsage) << to_string(error);
  EXPECT_THAT(to_string(result.error()), HasSubstr(text));
}

TEST(ApiOptions, numbers_of_threads_out_of_range_are_usage_errors) {
  const Buffer pte = Buffer::copy_of(small_pte());
  for (const int threads : {0, -1, 1 << 30, std::numeric_limits<int>::min()}) {
    expect_usage(quantize(imported(pt2::small_model()), {}, {.threads = threads}), "number of threads");
    CompileOptions options;
    options.delegate.threads = threads;
    expect_usage(compile(quantized_model(), kTarget, options), "number of threads");
    expect_usage(compile_delegate({}, kTarget, options.delegate), "number of threads");
    expect_usage(package_tosa({}, kTarget, options.delegate), "number of threads");
    expect_usage(run(pte, sample(1, 1), {.threads = threads}), "number of threads");
    expect_usage(Session::load(pte, {.threads = threads}), "number of threads");
  }
}

TEST(ApiOptions, sizes_and_enumerators_out_of_range_are_usage_errors) {
  CompileOptions options;
  options.delegate.arena_budget_bytes = -1;
  options.delegate.optimize = static_cast<Optimize>(17);
  options.partition.delegates = static_cast<DelegateMode>(99);
  options.sram_budget_bytes = -1;
  options.flash_budget_bytes = -1;
  const auto rejected = compile(quantized_model(), kTarget, options);
  expect_usage(rejected, "arena_budget_bytes");
  EXPECT_EQ(rejected.error().size(), 5U);  // one message for each mistake
  for (const int64_t bytes : {int64_t{0}, int64_t{-5}, std::numeric_limits<int64_t>::max()}) {
    TargetNames target = kTarget;
    target.arena_cache_bytes = bytes;
    expect_usage(compile(quantized_model(), target), "arena_cache_bytes");
  }
  QuantizeOptions wrong;
  wrong.scheme.general.activations.dtype = DType::kFp32;
  wrong.scheme.general.weights.qmin = 5;
  wrong.scheme.general.weights.qmax = 4;
  wrong.mode = static_cast<QuantizeMode>(9);
  const auto unquantized = quantize(imported(pt2::small_model()), {}, wrong);
  expect_usage(unquantized, "scheme: activations");
  EXPECT_EQ(unquantized.error().size(), 3U);
  for (const double scale : {0.0, -1.0, 1e-300, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    QuantizeOptions scaled;
    scaled.scheme.general.smallest_scale = scale;  // 1e-300 is 0 as a float
    expect_usage(quantize(imported(pt2::small_model()), {}, scaled), "smallest_scale");
  }
}

TEST(ApiOptions, model_that_was_moved_from_is_usage_error) {
  Model model = quantized_model();
  const Model other = std::move(model);
  EXPECT_TRUE(model.name().empty());
  EXPECT_TRUE(model.quantization().empty());
  EXPECT_TRUE(inputs(model).empty());
  expect_usage(compile(model, kTarget), "the model is empty");
  expect_usage(partition(model, kTarget), "the model is empty");
  expect_usage(to_tosa(model, kTarget), "the model is empty");
  expect_usage(quantize(model, {}), "the model is empty");
  expect_usage(package(Partition{}, {}), "the partition is empty");
}

TEST(ApiOptions, unknown_types_of_tensors_are_usage_errors) {
  Sample unknown = sample(1, 1);
  unknown.front().dtype = static_cast<DType>(200);
  expect_usage(run(Buffer::copy_of(small_pte()), unknown), "dtype of input 0: no such enumerator");
  expect_usage(quantize(imported(pt2::small_model()), std::span(&unknown, 1)), "dtype of input 0");
  expect_usage(explain(Buffer::copy_of(pt2::small_model().archive()), "m.pt2", std::span(&unknown, 1), kTarget),
               "dtype of input 0");
}

TEST(ApiOptions, blobs_of_no_delegate_are_usage_errors) {
  const auto parts = partition(quantized_model(), kTarget);
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->delegates.size(), 1U);
  const auto blob = compile_delegate(parts->delegates.front(), kTarget);
  ASSERT_TRUE(blob.has_value());
  EXPECT_TRUE(package(*parts, std::span(&*blob, 1)).has_value());
  DelegateBlob without_backend = *blob;
  without_backend.backend_id.clear();
  DelegateBlob without_bytes = *blob;
  without_bytes.blob.clear();
  for (const DelegateBlob& wrong : {DelegateBlob{}, without_backend, without_bytes})
    expect_usage(package(*parts, std::span(&wrong, 1)), "blob 0 is empty");
}

TEST(ApiOptions, empty_and_throwing_functions_of_log_are_usage_errors) {
  const Log no_note{.note = nullptr};
  expect_usage(compile(quantized_model(), kTarget, {}, no_note), "Log::note");
  Log no_progress;
  no_progress.progress = nullptr;
  expect_usage(run(Buffer::copy_of(small_pte()), sample(1, 1), {}, no_progress), "Log::progress");
  Log throwing;
  throwing.progress = [](std::string_view, size_t, size_t) { throw std::runtime_error("enough"); };
  expect_usage(compile(quantized_model(), kTarget, {}, throwing), "enough");
}

TEST(ApiOptions, data_of_another_size_than_tensor_are_errors) {
  const Buffer pte = Buffer::copy_of(small_pte());
  const std::vector<std::byte> bytes(64);
  for (const size_t size : {0, 1, 4, 7, 9, 64}) {
    const Sample wrong{{.dtype = DType::kFp32, .shape = {1, 2}, .data = Buffer::copy_of(std::span(bytes).first(size))}};
    const auto rejected = run(pte, wrong);
    ASSERT_FALSE(rejected.has_value()) << size;
    EXPECT_THAT(to_string(rejected.error()), HasSubstr("expected 8 bytes"));
    EXPECT_NE(rejected.error()[0].fault, Fault::kInternal);
    const auto unquantized = quantize(imported(pt2::small_model()), std::vector<Sample>{wrong});
    ASSERT_FALSE(unquantized.has_value()) << size;
    EXPECT_THAT(to_string(unquantized.error()), HasSubstr("expected 8 bytes"));
    EXPECT_NE(unquantized.error()[0].fault, Fault::kInternal);
  }
}

TEST(ApiOptions, unaligned_bytes_give_same_results) {
  const std::vector<std::byte> pte = small_pte();
  std::vector<std::byte> storage(pte.size() + 1);
  std::ranges::copy(pte, storage.begin() + 1);
  const Buffer unaligned(nullptr, std::span(storage).subspan(1));
  const auto expected = run(Buffer::copy_of(pte), sample(1, 1));
  const auto outcome = run(unaligned, sample(1, 1));
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
  EXPECT_TRUE(identical(outcome->outputs[0].tensor, expected->outputs[0].tensor));

  const auto archive = pt2::small_model().archive();
  std::vector<std::byte> moved(archive.size() + 1);
  std::ranges::copy(archive, moved.begin() + 1);
  std::vector<std::byte> floats(9);
  const Sample unaligned_sample{
      {.dtype = DType::kFp32, .shape = {1, 2}, .data = Buffer(nullptr, std::span(floats).subspan(1))}};
  auto model = import_pt2(Buffer(nullptr, std::span(moved).subspan(1)), "m.pt2");
  ASSERT_TRUE(model.has_value()) << to_string(model.error());
  const auto quantized = quantize(*model, std::vector<Sample>{unaligned_sample, sample(1, 2)});
  EXPECT_TRUE(quantized.has_value()) << to_string(quantized.error());
}

TEST(ApiOptions, float_model_without_samples_is_note) {
  std::vector<std::string> notes;
  Log log;
  log.note = [&](const Diagnostic& note) { notes.push_back(to_string(note)); };
  const auto model = quantize(imported(pt2::small_model()), {}, {}, log);
  ASSERT_TRUE(model.has_value());
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("stays float")));
  notes.clear();
  const auto program = compile(*model, kTarget, {}, log);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  EXPECT_TRUE(program->report.delegates.empty());
  EXPECT_THAT(notes, testing::Contains(HasSubstr("all nodes run on the CPU")));
  notes.clear();
  ASSERT_TRUE(compile(quantized_model(), kTarget, {}, log).has_value());
  EXPECT_THAT(notes, testing::Not(testing::Contains(HasSubstr("all nodes run on the CPU"))));
}

TEST(ApiOptions, requested_stop_ends_call) {
  std::stop_source source;
  source.request_stop();
  CompileOptions options;
  options.delegate.stop = source.get_token();
  expect_usage(compile(quantized_model(), kTarget, options), "stopped by its caller");
  expect_usage(quantize(imported(pt2::small_model()), {}, {.stop = source.get_token()}), "stopped by its caller");
  expect_usage(run(Buffer::copy_of(small_pte()), sample(1, 1), {.stop = source.get_token()}), "stopped by its caller");
  // Stops in the middle of the call: at the first progress report of the compilation.
  std::stop_source later;
  options.delegate.stop = later.get_token();
  size_t calls = 0;
  Log log;
  log.progress = [&](std::string_view, size_t, size_t) {
    ++calls;
    later.request_stop();
  };
  expect_usage(compile(quantized_model(), kTarget, options, log), "stopped by its caller");
  EXPECT_EQ(calls, 1U);
}

TEST(ApiOptions, each_step_of_progress_ends_at_its_end) {
  std::vector<std::pair<size_t, size_t>> last;
  std::string step;
  size_t repeated = 0;
  Log log;
  log.progress = [&](std::string_view now, size_t done, size_t total) {
    if (now != step) last.emplace_back();
    repeated += now == step && last.back() == std::pair(done, total) ? 1 : 0;
    step = now;
    last.back() = {done, total};
  };
  ASSERT_TRUE(compile(quantized_model(), kTarget, {}, log).has_value());
  ASSERT_FALSE(last.empty());
  for (const auto& [done, total] : last) EXPECT_EQ(done, total);
  EXPECT_EQ(repeated, 0U);
}

TEST(ApiOptions, layers_and_memory_map_are_made_on_request) {
  CompileOptions options;
  const auto without = compile(quantized_model(), kTarget, options);
  options.delegate.layers = true;
  const auto with = compile(quantized_model(), kTarget, options);
  ASSERT_TRUE(without.has_value() && with.has_value());
  EXPECT_FALSE(without->report.delegates[0].layers.has_value());
  ASSERT_TRUE(with->report.delegates[0].layers.has_value());
  EXPECT_FALSE(with->report.delegates[0].layers->layers.empty());
  EXPECT_FALSE(with->report.delegates[0].memory_map.empty());
  EXPECT_EQ(without->pte, with->pte);
}

constexpr std::string_view kBoard =
    "[System_Config.My_Board]\ncore_clock=250e6\naxi0_port=Sram\naxi1_port=OffChipFlash\nSram_clock_scale=1.0\n"
    "Sram_burst_length=32\nSram_read_latency=32\nSram_write_latency=32\nOffChipFlash_clock_scale=0.125\n"
    "OffChipFlash_burst_length=128\nOffChipFlash_read_latency=64\nOffChipFlash_write_latency=64\n"
    "[Memory_Mode.My_Mode]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\n";

TEST(ApiOptions, timed_run_needs_memories_that_program_was_compiled_for) {
  TargetNames board = kTarget;
  board.system_config = "My_Board";
  board.memory_mode = "My_Mode";
  board.ini = {{.name = "board.ini", .text = Buffer::copy_of(std::as_bytes(std::span(kBoard)))}};
  const Buffer pte = Buffer::copy_of(small_pte(board));
  EXPECT_TRUE(run(pte, sample(1, 1)).has_value());
  expect_usage(run(pte, sample(1, 1), {.timed = true}), "My_Board, My_Mode");
  expect_usage(Session::load(pte, {.timed = true}), "My_Board, My_Mode");
  RunOptions timed{.timed = true};
  timed.memories.ini = board.ini;
  const auto outcome = run(pte, sample(1, 1), timed);
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
  EXPECT_EQ(outcome->npu.system_config, "My_Board");
  EXPECT_EQ(outcome->npu.clock_hz, 250'000'000);
}

TEST(ApiNames, enumerators_have_names_of_command_line) {
  EXPECT_EQ(name_of(Fault::kUsage), "usage");
  EXPECT_EQ(name_of(results::RunsOn::kFolded), "folded");
  EXPECT_EQ(name_of(Optimize::kSearch), "search");
  EXPECT_EQ(name_of(DelegateMode::kNothing), "nothing");
  EXPECT_EQ(name_of(QuantizeMode::kAlways), "always");
  EXPECT_EQ(name_of(options::CpuKernels::kCortexM), "cortex-m");
  EXPECT_EQ(name_of(static_cast<Fault>(77)), "unknown");
  EXPECT_EQ(name_of(static_cast<Optimize>(77)), "unknown");
  EXPECT_EQ(version(), CARINA_VERSION);
  EXPECT_EQ(CARINA_VERSION_NUMBER, 100);
}

}  // namespace
}  // namespace carina::api
