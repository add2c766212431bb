// Declares `carina accuracy`: the accuracy of a program compared with the float model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "results/accuracy_report.h"

namespace carina::explore {

struct AccuracyRequest {
  std::string model;        // the float .pt2
  std::string program;      // the .pte
  std::string data;         // .npz with inputs, and labels y or none
  std::string dump_folder;  // dump of compile; empty: the integer graph is not evaluated
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds, as compile's
  int threads = 1;
};

// Runs the samples through three implementations: the float model (TOSA FP in the interpreter), the program with its
// delegates' integer graphs in the interpreter, and the program on the simulated NPU. The predicted class is the
// largest element of the first output. Without labels only the distances between the outputs are reported. Errors:
// those of compile and run; labels that are not classes; inputs that are not finite; a dump of another program.
Result<results::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log);

// A report without scores yet, and the sums that they add. Scores are added in the order of the samples, so that the
// bytes of the result do not depend on who computed them.
class AccuracySums {
 public:
  explicit AccuracySums(results::AccuracyReport empty) : report_(std::move(empty)) {}
  void add(const results::SampleScore& score);
  [[nodiscard]] results::AccuracyReport report() const;

 private:
  results::AccuracyReport report_;
  double signal_ = 0;
  double noise_ = 0;
};

// The report before any sample is run: how many samples, and whether they have labels. Errors: as of accuracy().
Result<results::AccuracyReport> accuracy_without_scores(const AccuracyRequest& request, const Log& log);

// Some of the samples, by their numbers.
struct SamplePart {
  std::vector<std::pair<size_t, size_t>> samples;  // first and last
  std::function<void(size_t sample)> started;
  std::function<void(size_t sample, const results::SampleScore& score)> finished;
};
// Runs them one after the other. Errors: as of accuracy(), and a sample that there is not (usage).
Result<void> score_samples(const AccuracyRequest& request, const SamplePart& part, const Log& log);

}  // namespace carina::explore
