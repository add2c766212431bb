#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "results/accuracy_report.h"

namespace carina::report {

// An option of a command line, as it was parsed.
struct GivenOption {
  std::string name;                 // "--config"
  std::vector<std::string> values;  // none: a flag
};

// The output of `carina sweep --describe` for one model: what python/carina/cluster needs to divide the work among the
// workers of a cluster.
struct SweepDescription {
  std::string model;
  std::string key = {};                   // key of the state (explore::SweepState)
  std::vector<GivenOption> options = {};  // for workers, without files
  std::vector<GivenOption> files =
      {};  // options whose values are paths of files, or of folders whose files are all read
  std::vector<std::string> schemes = {};
  std::vector<std::string> targets = {};
  std::vector<std::string> memory_modes = {};
  // Indices of combinations that the state does not have: first and last.
  std::vector<std::pair<size_t, size_t>> missing = {};
};

// Version and digest of this program.
struct ProgramIdentity {
  std::string version;
  std::string sha256;
};

// Returns one object: "version" and "program_sha256" of the program, "here" (the options for the machine of the user,
// such as --state), and "sweeps".
std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const std::vector<SweepDescription>& sweeps);

// The output of `carina accuracy --describe`.
struct AccuracyDescription {
  std::string key;                 // of the state
  std::vector<std::string> words;  // for workers, without files
  std::vector<GivenOption> files;  // name: the option, or "" for an argument; values: paths
  size_t samples = 0;
  std::vector<std::pair<size_t, size_t>> missing;
};
std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const AccuracyDescription& accuracy);

// Returns the score of a sample as one line: {"sample": n, ...}. Sums are written as their bits, so that they are read
// back exactly.
std::string to_json_line(size_t sample, const results::SampleScore& score);
Result<std::pair<size_t, results::SampleScore>> read_score_line(std::string_view json, const std::string& name);

// The items that a worker computes: the content of the file of --job.
struct SweepJob {
  std::vector<std::pair<size_t, size_t>> combinations;
  std::vector<std::pair<std::string, std::string>> names;  // paths on the worker, and the user's names
};
// Reads {"combinations": [[first, last], ...], "names": [[path, name], ...]}. Errors: other JSON.
Result<SweepJob> read_sweep_job(std::string_view json, const std::string& name);

// Returns the errors of a part as one line: {"errors": text, "fault": "input", "usage", "environment" or "internal"}.
std::string to_json_line(const Diagnostics& errors);
// Returns {"started": combination}.
std::string started_line(size_t combination);

}  // namespace carina::report
