// Runs command streams of other compilers and compares the results with the expected bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../case_folders.h"
#include "../sampled.h"
#include "stream_case.h"

namespace carina::simulate {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

std::vector<std::string> files_like(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (const fs::path& path : sorted(folder)) {
    if (path.filename().string().starts_with(prefix) && path.extension() == ".npy") files.push_back(path.string());
  }
  return files;
}

struct Compared {
  size_t streams = 0;
  size_t largest_difference = 0;
};

void check(const fs::path& npz, const std::vector<std::string>& inputs, const std::vector<std::string>& expected,
           Compared& compared) {
  SCOPED_TRACE(npz.string());
  auto stream = StreamCase::load(npz.string());
  ASSERT_TRUE(stream.has_value()) << to_string(stream.error());
  Simulator clock(Options{.timing = Timing::kOn, .execution = Execution::kTimeOnly});
  const auto timed = stream->run(clock, inputs);
  ASSERT_TRUE(timed.has_value()) << to_string(timed.error());
  Simulator simulator(Options{.timing = Timing::kOn});
  const auto report = stream->run(simulator, inputs);
  ASSERT_TRUE(report.has_value()) << to_string(report.error());
  EXPECT_EQ(to_json(*timed), to_json(*report));
  ASSERT_EQ(stream->network().outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto tensor = load_npy(expected[i]);
    ASSERT_TRUE(tensor.has_value());
    const auto difference = compare(stream->output(i), *tensor);
    ASSERT_TRUE(difference.has_value()) << to_string(difference.error());
    compared.largest_difference = std::max(compared.largest_difference, static_cast<size_t>(difference->largest));
  }
  ++compared.streams;
}

// Checks Vela's output for a model and a target. A graph with several delegates has a stream for each part, counted in
// `parts`.
void check_target(const fs::path& model, const fs::path& target, Compared& compared, size_t& parts) {
  for (const std::string part : {"", "p0_", "p1_"}) {
    const fs::path npz = target / ("out_" + part + "vela.npz");
    if (!fs::exists(npz)) continue;
    // A file in the target's folder takes precedence over the one in the folder above.
    const auto nearest = [&](const std::string& prefix) {
      auto files = files_like(target, prefix);
      return files.empty() ? files_like(model, prefix) : files;
    };
    check(npz, nearest("tosa_" + part + "in_"), nearest("tosa_" + part + "out_"), compared);
    parts += part.empty() ? 0 : 1;
  }
}

TEST(PeerStreams, vela_streams_of_tosa_graphs_equal_reference_model) {
  if (tests::case_folders().empty()) GTEST_SKIP() << tests::kNoCases;
  Compared compared;
  size_t parts = 0, number = 0;
  for (const fs::path& cases : tests::case_folders()) {
    for (const fs::path& model : sorted(cases)) {
      if (!fs::is_directory(model)) continue;
      for (const fs::path& target : sorted(model)) {
        if (fs::is_directory(target) && number++ % tests::kOneOf == 0) check_target(model, target, compared, parts);
      }
    }
  }
  EXPECT_GE(compared.streams, 25 / tests::kOneOf);
  EXPECT_TRUE(parts > 0 || tests::kOneOf > 1);
  EXPECT_EQ(compared.largest_difference, 0u);
}

TEST(PeerStreams, golden_streams_give_expected_bytes) {
  const fs::path golden = tests::shared_folder() / "golden";
  if (!fs::exists(golden)) GTEST_SKIP() << "not run: no ../shared (streams of older Velas)";
  Compared compared;
  for (const fs::path& npu : sorted(golden)) {
    if (!fs::is_directory(npu)) continue;
    for (const fs::path& model : sorted(npu))
      check(model / "stream.npz", {(model / "input.npy").string()}, {(model / "expected.npy").string()}, compared);
  }
  EXPECT_GE(compared.streams, 22u);
  EXPECT_EQ(compared.largest_difference, 0u);
}

TEST(PeerStreams, tflite_networks_equal_reference_kernels) {
  const fs::path tflite = tests::shared_folder() / "tflite";
  if (!fs::exists(tflite)) GTEST_SKIP() << "not run: no ../shared (TensorFlow Lite networks)";
  for (const fs::path& model : sorted(tflite)) {
    if (!fs::is_directory(model)) continue;
    Compared compared;
    for (const fs::path& target : sorted(model)) {
      if (fs::is_directory(target))
        check(target / "out_vela.npz", {(model / "input.npy").string()}, {(model / "expected.npy").string()}, compared);
    }
    EXPECT_GT(compared.streams, 0u);
    // TensorFlow Lite's own kernels differ by 1 in the last layer of `ad`.
    EXPECT_LE(compared.largest_difference, model.filename() == "ad" ? 1u : 0u) << model;
  }
}

}  // namespace
}  // namespace carina::simulate
