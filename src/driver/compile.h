// Declares the requests and functions behind `carina compile`, `carina explain` and `carina tosa`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/show.h"
#include "carina/buffer.h"
#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "driver/dump_folder.h"
#include "driver/split.h"
#include "files/tosa_file.h"
#include "ir/pass.h"
#include "models/quantize_flags.h"
#include "pte/emit.h"
#include "targets/target.h"

namespace carina::driver {

using pte::CpuKernels;

struct CompileRequest;
struct PreparedModel;

// Compiles the request with other choices and returns their results. `model` is the request's model, quantized; `now`
// is the report of the request itself.
using FindAlternatives = std::function<Result<std::vector<results::Alternative>>(
    const CompileRequest& request, const PreparedModel& model, const results::CompileReport& now, const Log& log)>;

// Compiles the request with compressed weights. `model` and `now` are as above; `now` has layers.
using FindCompression = std::function<Result<results::Compression>(
    const CompileRequest& request, const PreparedModel& model, const results::CompileReport& now, const Log& log)>;

// A further method of a program, whose model may be in memory.
struct FurtherMethod {
  std::string name;
  std::string model;                  // as in CompileRequest
  Buffer file = {};                   // likewise
  std::string calibration = {};       // likewise
  models::SampleSource samples = {};  // likewise
};

// A request of a command. Its options are the rows of carina/options.def.
struct CompileRequest : options::PartitionOptions,
                        options::ScheduleOptions,
                        options::PipelineOptions,
                        options::DriverOptions {
  std::string model;  // .pt2 or .tosa
  Buffer file = {};   // the model's bytes, if they are in memory; `model` is then only the name in messages
  targets::TargetRequest target;
  models::QuantizeFlags quantize = {};
  datasets::ImageOptions images = {};  // of calibration data that are images
  models::SampleSource samples = {};   // used instead of `calibration`, which is then only the name in messages
  std::vector<FurtherMethod> further_methods = {};  // in addition to those that `methods` names
  std::string signature = {};                       // of a LiteRT file with several graphs: whose is compiled
  // Maps names of the user's nodes to the location text of their operators in dumped TOSA files. Other operators get
  // the source line.
  std::map<std::string, std::string> locations = {};
  bool estimates = false;  // a float model without calibration data is quantized with random ranges, for its figures
  bool layers = false;     // whether the report has the estimate of each operation
  FindAlternatives alternatives = {};      // finds the results of other choices; empty: the report has none
  FindCompression compression = {};        // finds what compressed weights bring; empty: the report does not say
  FindAlternatives remedies = {};          // finds choices for a program that exceeds a budget; empty: none are named
  std::vector<backends::Show> shown = {};  // sections that show how delegates were compiled
  // The output file: a .pte; the backend's output for the only delegate, which is the stream as Vela's raw .npz, or the
  // graph as .vgf; or the .tflite that was read, with the NPU's streams in it.
  enum class Output { kProgram, kStream, kVgf, kTflite } output = Output::kProgram;
  int threads = 1;
  ir::PassOptions passes = {};  // for preparing and for the clean-up after lowering: passes to skip or to print
};

struct Compiled {
  std::vector<std::byte> program;  // the .pte, .npz, .vgf or .tflite
  results::CompileReport report;
  // The files of the dump folder, which stay beside their places until its commit(). The caller commits them with its
  // own files, so that a failed write changes nothing.
  std::optional<DumpFolder> dump = {};
};

// Compiles a model to a program. A node that partitioning assigned to the NPU and the NPU's compiler rejects runs on
// the CPU; the report gives the compiler's reason. In a dump folder, the files of each delegate n are
// output_tag<n>_<TOSA spec>.tosa and output_tag<n>_vela.npz, which are the Arm flow's names, and as
// output_tag<n>_schedule.txt. Errors: the errors of every stage.
Result<Compiled> compile(const CompileRequest& request, const Log& log);

// Returns the disposition of each node of the model, up to the first failing stage. If the model cannot be compiled,
// the report lists the nodes that prevent it, for all stages, and its sizes are meaningless. Errors: a file that cannot
// be read or wrong options, since then nothing can be reported about nodes. The report of a LiteRT file of which no
// program can be made is that of its .tflite.
Result<results::CompileReport> explain(const CompileRequest& request, const Log& log);

struct TosaRequest {
  CompileRequest model;         // its target is ignored
  std::string version = "1.0";  // or "0.80", "vgf"
  files::TosaLimits limits;     // profiles, extensions and level that the file may use
};

// Returns the model as one TOSA file. A .pt2 becomes a TOSA-INT graph if it is quantized, else a TOSA-FP graph. A .tosa
// is converted to the requested version. Errors: those of compile(); a model that cannot be lowered as a whole;
// violated rules of the specification; features that the version lacks.
Result<std::vector<std::byte>> to_tosa(const TosaRequest& request, const Log& log);

}  // namespace carina::driver
