#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "results/accuracy_report.h"

namespace carina::report {

// An option of a command line, as it was parsed.
struct GivenOption {
  std::string name;                 // "--config"
  std::vector<std::string> values;  // none: a flag
};

// What `carina sweep --describe` says of one model of a command line: what python/carina/cluster needs to share the work
// among the workers of a cluster.
struct SweepDescription {
  std::string model;
  std::string key = {};                   // of the state (explore::SweepState)
  std::vector<GivenOption> options = {};  // for a worker; without files
  std::vector<GivenOption> files = {};  // likewise; values are paths of files, and of folders whose files are all read
  std::vector<std::string> schemes = {};
  std::vector<std::string> targets = {};
  std::vector<std::string> memory_modes = {};
  // Numbers of combinations that the state does not have: first and last.
  std::vector<std::pair<size_t, size_t>> missing = {};
};

// The program that describes.
struct ProgramIdentity {
  std::string version;
  std::string sha256;
};

// One object: "version" and "program_sha256" of the program, "here" (what was asked of the machine that calls, such as
// --state), and "sweeps".
std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const std::vector<SweepDescription>& sweeps);

// The same of `carina accuracy`: the samples are the items.
struct AccuracyDescription {
  std::string key;                   // of the state
  std::vector<std::string> words;    // for a worker; without files
  std::vector<GivenOption> files;    // name: the option, or "" for an argument; values: paths
  size_t samples = 0;
  std::vector<std::pair<size_t, size_t>> missing;
};
std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const AccuracyDescription& accuracy);

// A sample as a line: {"sample": n, ...}. Sums are kept as their bits, so that they are read back exactly.
std::string to_json_line(size_t sample, const results::SampleScore& score);
Result<std::pair<size_t, results::SampleScore>> read_score_line(std::string_view json, const std::string& name);

// What a worker does: the value of --job.
struct SweepJob {
  std::vector<std::pair<size_t, size_t>> combinations;
  std::vector<std::pair<std::string, std::string>> names;  // paths of files, and what messages call them
};
// Reads {"combinations": [[first, last], ...], "names": [[path, name], ...]}. Errors: other JSON.
Result<SweepJob> read_sweep_job(std::string_view json, const std::string& name);

// Why a part was not made, on one line: {"errors": text, "fault": "input", "usage", "environment" or "internal"}.
std::string to_json_line(const Diagnostics& errors);
// {"started": combination}
std::string started_line(size_t combination);

}  // namespace carina::report
