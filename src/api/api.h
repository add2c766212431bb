#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "driver/compilation.h"
#include "driver/delegate_map.h"
#include "execute/run_program.h"
#include "quantize/annotate/annotation.h"
#include "quantize/annotate/expansion.h"
#include "results/compile_report.h"
#include "targets/target.h"

// Carina in memory: from the bytes of a model to a program and its outputs, without a file or a process of its own. The
// command line is files around these calls; the Python package and plug-ins call the same.
//
// Values go in and come out; nothing is kept between calls, so calls on different values may run at the same time. The
// same values give the same bytes, whatever `threads` is. Every call returns its value or all diagnostics at once: what
// is wrong, where, expected, got, hint, and whose fault it is. A mistake of Carina's own comes back as a diagnostic of
// Fault::kInternal: no call throws, none ends the process. Notes and warnings go to `log`.
namespace carina::api {

using backends::Optimize;
using datasets::InputType;
using datasets::NamedTensor;
using datasets::Sample;
using driver::DelegateMode;
using models::Model;
using models::QuantizeMode;
using targets::ConfigFile;
using targets::TargetNames;

// The names of all targets that can be compiled for, as Vela writes them.
std::vector<std::string_view> targets();

// Reads what torch.export.save() of torch 2.9 to 2.13 wrote and normalizes it: the float (or already quantized) model as
// an ATen graph. Weights are views of `pt2`, which the model keeps alive; Buffer::copy_of() makes a Buffer of a span.
// `name` is what messages call the model. Errors: not such an archive, damaged, operators that are unknown or cannot be
// normalized, all of them at once.
Result<Model> import_pt2(const Buffer& pt2, std::string_view name, const Log& log = {});

// Names, types and shapes of the model's inputs, in order: what a Sample must hold.
std::vector<InputType> inputs(const Model& model);

struct QuantizeOptions {
  QuantizeMode mode = QuantizeMode::kAuto;
  quantize::Scheme scheme = {};  // data types, granularity, ranges, overrides; int8 unless it says otherwise
  int threads = 1;
};

// The model with integers: those that convert_pt2e gave it, or those of the scheme by calibration on `samples`, each one tensor per
// input, of exactly its type and shape. Without samples a float model stays float. Errors: kAlways without samples
// (usage), samples that do not fit, values that are not finite.
Result<Model> quantize(Model model, std::span<const Sample> samples, const QuantizeOptions& options = {},
                       const Log& log = {});

struct PartitionOptions {
  DelegateMode delegates = DelegateMode::kNpu;
  std::vector<std::string> cpu_nodes;         // names of nodes to keep on the CPU
  std::vector<std::string> cpu_ops = {};      // operators likewise: "conv2d", "aten.conv2d.default"
  std::vector<std::string> cpu_modules = {};  // modules likewise, by path or type
};

// One delegate to be: a TOSA 1.0 FlatBuffer, whose inputs and outputs are those of the delegate call, in order.
using TosaFile = std::vector<std::byte>;

// A model cut in two sides: what the CPU runs, which calls the delegates, and what is to be compiled.
struct Partition {
  std::vector<partition::Decision> decisions;  // where each node of the normalized graph runs, and why
  ir::Graph program;
  std::vector<TosaFile> delegates;
};

// Splits the model for a target, and lowers the NPU's parts. Errors: an unknown target or node (usage); nodes that do
// not lower.
Result<Partition> partition(const Model& model, const TargetNames& target, const PartitionOptions& options = {},
                            const Log& log = {});

struct DelegateOptions {
  int threads = 1;
  int64_t arena_limit_bytes = 0;  // what the delegate's arena may take; 0: no limit
  // What schedules are made for: the fewest cycles (kSpeed), the fewest that seconds of search find (kSearch), or the
  // least SRAM (kSize).
  Optimize optimize = Optimize::kSpeed;
  // Products of two activations as convolutions whose weights the NPU writes, where it has no such product. Exact on the
  // simulator; no silicon has confirmed it, which a warning says.
  bool dynamic_weights = false;
  bool artifacts = false;  // whether DelegateBlob::artifacts are made
};

// The whole model as one TOSA 1.0 FlatBuffer, in the idioms of a target: what compile_delegate() takes. Inputs and
// outputs are the model's, in order, of its types (int64 as int32). Errors: an unknown target (usage); nodes that do not
// lower; a boundary whose type lowering would change, which is quantized inside of the model only.
Result<TosaFile> to_tosa(const Model& model, const TargetNames& target, const Log& log = {});

// The same with where each operator comes from. `locations`: by the names of the user's nodes, what the file gives as the
// place of the operators made from them; others have their line of the model.
struct TosaOperator {
  std::string op;      // "CONV2D"
  std::string result;  // the name of its first result
  std::string node;    // of the user's model; empty: of none
};
struct TracedTosa {
  TosaFile tosa;
  std::vector<TosaOperator> operators;  // in the file's order, constants left out
};
Result<TracedTosa> to_traced_tosa(const Model& model, const TargetNames& target,
                                  const std::map<std::string, std::string>& locations = {}, const Log& log = {});

// What Vela's flags ask for, as far as it has a meaning here.
struct Flags {
  TargetNames target;
  DelegateOptions delegate;
};

// Reads the compile spec "compile_flags" that ExecuTorch's Arm backend hands to preprocess(): flags of Vela 5.2,
// separated by blanks. --config files are read from disk. Notes: flags that make no difference, each with the reason.
// Errors (usage), all at once: unknown flags, with the nearest name; what Carina does not do; unusable values.
Result<Flags> read_flags(std::string_view compile_flags, const Log& log = {});

// A delegate as a program holds it: what an ExecuTorch backend's preprocess() returns.
struct DelegateBlob {
  std::string backend_id;                                          // "EthosUBackend"
  std::vector<std::byte> blob;                                     // what the runtime on the device parses
  std::vector<std::pair<std::string, std::string>> compile_specs;  // key and value
  results::DelegateReport report;                                  // sizes in bytes; cycles per inference, an estimate
  std::vector<backends::Artifact> artifacts = {};                  // files that show what became of it
};

// Compiles one TOSA graph (FlatBuffer 1.0 or 0.80, one region, integer types) for the whole of it to run on the target:
// the call that an ExecuTorch plug-in's preprocess() needs. Inputs and outputs of the blob are those of the graph, in
// order. Errors: of the reader and the verifier; all operators, types and shapes that the target cannot do, each with
// its node; an arena above the limit, with the tensors to blame.
Result<DelegateBlob> compile_delegate(std::span<const std::byte> tosa, const TargetNames& target,
                                      const DelegateOptions& options = {}, const Log& log = {});

// An ExecuTorch program (.pte) of a partition and its compiled delegates, blobs[i] made from partition.delegates[i].
// Errors: operators that stay on the CPU and have no kernel in ExecuTorch, all of them.
Result<std::vector<std::byte>> package(const Partition& partition, std::span<const DelegateBlob> blobs);

struct CompileOptions {
  PartitionOptions partition;
  DelegateOptions delegate;
};

struct Program {
  std::vector<std::byte> pte;  // an ExecuTorch program
  results::CompileReport report;
};

// Partitions a model, compiles its delegates and packages all of it as an ExecuTorch program. A node that the target
// turns out not to take goes to the CPU, with the reason. Errors: as above; operators that neither the target nor a
// kernel of ExecuTorch can run, all of them.
Result<Program> compile(Model model, const TargetNames& target, const CompileOptions& options = {},
                        const Log& log = {});

// A program that is one call of one delegate, inputs and outputs as they are: a TOSA graph packaged.
Result<Program> package_tosa(std::span<const std::byte> tosa, const TargetNames& target,
                             const DelegateOptions& options = {}, const Log& log = {});

// What became of each node of the user's model, and, in `errors`, all that keeps it from being compiled. Errors: what
// leaves nothing to say: a file that cannot be read, an unknown target.
Result<results::CompileReport> explain(const Buffer& pt2, std::string_view name, std::span<const Sample> samples,
                                       const TargetNames& target, const CompileOptions& options = {},
                                       const Log& log = {});

// For those who keep PyTorch's graphs. What its quantizer (torchao's PT2E) is to do with a float model: quantize/annotate/annotation.h.
// Errors: of the reader.
Result<quantize::Annotations> annotate(const Buffer& pt2, std::string_view name, const quantize::NodeSchemes& schemes,
                                       const Log& log = {});

// The nodes that it is to take apart before, and into what: quantize/annotate/expansion.h. Errors: of the reader.
Result<std::vector<quantize::Expansion>> expand(const Buffer& pt2, std::string_view name,
                                                const quantize::NodeSchemes& schemes, const Log& log = {});

// And which of its nodes an ExecuTorch partitioner is to tag for which delegate: driver/delegate_map.h. The target may
// also be a TOSA specification, "TOSA-1.0+INT".
Result<std::vector<driver::NodeAssignment>> map_delegates(const Buffer& pt2, std::string_view name,
                                                          const TargetNames& target, const CompileOptions& options = {},
                                                          const Log& log = {});

struct RunOptions {
  bool timed = false;    // also estimate cycles: RunOutcome::npu
  TargetNames memories;  // the memories that a timed run assumes; empty: those that the program was compiled for
  int threads = 1;
};
using execute::RunOutcome;

// Runs an ExecuTorch program once: CPU kernels in Carina's runtime, Ethos-U delegates bit for bit as the NPU, on the
// simulator. `inputs`: one tensor per input, in order. Errors: a damaged program, an unknown backend or kernel, inputs
// of other number, type or shape, faults that the simulator finds.
Result<RunOutcome> run(const Buffer& pte, const Sample& inputs, const RunOptions& options = {}, const Log& log = {});

}  // namespace carina::api
