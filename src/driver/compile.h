#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/show.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "driver/split.h"
#include "files/tosa_file.h"
#include "ir/pass.h"
#include "models/quantize_flags.h"
#include "pte/emit.h"
#include "results/compile_report.h"
#include "targets/target.h"

namespace carina::driver {

using pte::CpuKernels;

struct CompileRequest;

// What other choices than those of a request would bring; `now`: the report of what it asks for.
using FindAlternatives = std::function<Result<std::vector<results::Alternative>>(
    const CompileRequest& request, const results::CompileReport& now, const Log& log)>;

struct CompileRequest {
  std::string model;  // .pt2 or .tosa
  Buffer file = {};   // its bytes, where it is in memory; then `model` is what messages call it
  targets::TargetRequest target;
  models::QuantizeFlags quantize = {};
  std::string calibration;            // .npz, .npy or a folder; empty: none
  models::SampleSource samples = {};  // instead of `calibration`, which is what messages call them
  DelegateMode delegates = DelegateMode::kNpu;
  std::vector<std::string> cpu_nodes;                        // nodes to keep on the CPU
  std::vector<std::string> cpu_ops = {};                     // operators likewise
  std::vector<std::string> cpu_modules = {};                 // modules likewise, by path or type
  CpuKernels cpu_kernels = CpuKernels::kPortable;            // what nodes on the CPU are written as
  int64_t sram_budget_bytes = 0;                             // what a delegate's arena may take; 0: no limit
  backends::Optimize optimize = backends::Optimize::kSpeed;  // what schedules are made for
  bool legalize = false;                                     // rewrite what the target refuses, where no number changes
  bool dynamic_weights = false;                              // plan::Options::dynamic_weights
  std::string dump_folder;                                   // intermediate files go there; empty: none are written
  // By the names of the user's nodes, what dumped TOSA files say of the operators made from them; of others they say the
  // source line.
  std::map<std::string, std::string> locations = {};
  bool layers = false;                       // whether the report has the estimate operation by operation
  FindAlternatives alternatives = {};        // asked what other choices would bring; empty: the report does not say
  std::vector<backends::Show> shown = {};    // what the report shows of how delegates were compiled
  std::vector<std::string> vela_flags = {};  // as a user of Vela passes them; they add to the above
  // A .pte; or what the backend made of the one delegate: the stream as Vela's raw .npz, the graph as .vgf.
  enum class Output { kProgram, kStream, kVgf } output = Output::kProgram;
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds
  int threads = 1;
  ir::PassOptions passes = {};  // of preparing and of the clean-up behind lowering: what to leave out or look at
};

struct Compiled {
  std::vector<std::byte> program;  // the .pte, .npz or .vgf
  results::CompileReport report;
};

// The whole way from a model to a program. A node that partitioning gave to the NPU and the NPU's compiler refuses goes
// to the CPU, with the compiler's reason. With a dump folder, writes for each delegate n output_tag<n>_<TOSA spec>.tosa
// and output_tag<n>_vela.npz, as the Arm flow names them, and output_tag<n>_schedule.txt. Errors: of every library on the way.
Result<Compiled> compile(const CompileRequest& request, const Log& log);

// What became of each node of the model, as far as the model comes: where it cannot be compiled, the report says which
// nodes stand in the way, of all stages, and its sizes mean nothing. Errors: what leaves nothing to say of nodes: a file
// that cannot be read, wrong options.
Result<results::CompileReport> explain(const CompileRequest& request, const Log& log);

struct TosaRequest {
  CompileRequest model;         // of which the target is not used
  std::string version = "1.0";  // or "0.80", "vgf"
  files::TosaLimits limits;     // what the file may use
};

// The model as one TOSA file: a .pt2 INT where it is quantized, else FP; a .tosa as it is, in the version that is
// asked for. Errors: as compile()'s, a model that does not lower as a whole, broken rules, what the version does not
// have.
Result<std::vector<std::byte>> to_tosa(const TosaRequest& request, const Log& log);

}  // namespace carina::driver
