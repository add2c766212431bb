// Declares `carina accuracy`: the accuracy of a program compared with the float model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "results/accuracy_report.h"

namespace carina::explore {

struct AccuracyRequest {
  std::string model;         // the float .pt2
  std::string program;       // the .pte
  Buffer program_file = {};  // its bytes, if they are in memory; `program` is then only the name in messages
  std::string data;          // .npz with inputs, and labels y or none; or a folder of such files, or of images
  datasets::ImageOptions images = {};
  std::string dump_folder;  // dump of compile; empty: the integer graph is not evaluated
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds, as compile's
  int threads = 1;
  std::string
      metric;  // of the first output (task_metric.h); empty: the largest element is the class, if there are labels
};

// Runs the samples through three implementations: the float model (TOSA FP in the interpreter), the program with its
// delegates' integer graphs in the interpreter, and the program on the simulated NPU. The predicted class is the
// largest element of the first output. Without labels only the distances between the outputs are reported. Errors:
// those of compile and run; labels that are not classes; inputs that are not finite; a dump of another program.
Result<results::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log);

// Adds the scores of samples to a report. If they are added in the order of the samples, the result has the same bytes
// whichever process has computed each of them.
class AccuracySums {
 public:
  explicit AccuracySums(results::AccuracyReport empty);
  void add(const results::SampleScore& score);
  [[nodiscard]] results::AccuracyReport report() const;

 private:
  void add_label(const results::SampleScore& score);

  results::AccuracyReport report_;
  std::map<int64_t, results::ClassAccuracy> classes_;          // by label
  std::map<std::pair<int64_t, int64_t>, int64_t> confusions_;  // samples by label and wrong answer
  std::vector<results::OutputSums> sums_;                      // of each output
  std::vector<double> steps_db_;                               // of a model with state: of the worst output
};

// Returns the report before any sample has run: the number of samples, whether they have labels, the names of the
// outputs. Errors: as of accuracy().
Result<results::AccuracyReport> accuracy_without_scores(const AccuracyRequest& request, const Log& log);

// Some of the samples, by index.
struct SamplePart {
  std::vector<std::pair<size_t, size_t>> samples;  // first and last
  std::function<void(size_t sample)> started;
  std::function<void(size_t sample, const results::SampleScore& score)> finished;
};
// Runs the samples of a part one after the other. Errors: as of accuracy(); an index out of range (usage).
Result<void> score_samples(const AccuracyRequest& request, const SamplePart& part, const Log& log);

}  // namespace carina::explore
