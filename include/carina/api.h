// Declares the in-memory API of Carina. Its functions turn the bytes of a model into a program and run that program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carina/buffer.h"
#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/npu_report.h"
#include "carina/options.h"
#include "carina/result.h"
#include "carina/sample.h"
#include "carina/scheme.h"
#include "carina/target.h"

// The in-memory API compiles the bytes of a model to a program and runs the program. It needs no files and starts no
// process. The command line adds files around these calls; the Python package and the plug-ins call the same functions.
//
// All functions take and return values and keep no state between calls, so calls on different values may run
// concurrently. Equal arguments give equal bytes for every number of `threads`. Every call returns either its value or
// all diagnostics at once. A diagnostic says what is wrong, where, what was expected, what was found, a hint, and the
// kind of fault. A bug in Carina is returned as a diagnostic with Fault::kInternal: no call throws an exception, and
// none ends the process. Arguments that no call accepts are Fault::kUsage: a number of threads outside of 1 to 1024, a
// size below 0, an unknown enumerator, a Model that was moved from, a Log with an empty function.
//
// Notes and warnings go to `log`. Its progress function is called with done == total at the end of each step. The
// functions of a Log may be called from other threads than the caller's, but never at the same time.
//
// A call whose options have a stop token ends when a stop is requested, with one diagnostic of Fault::kUsage. It looks
// at the token whenever it reports progress; a long operation of the CPU is not interrupted.
namespace carina::api {

using datasets::InputType;
using datasets::NamedTensor;
using datasets::Sample;
using options::Check;
using options::DelegateMode;
using options::Optimize;
using options::QuantizeMode;
using targets::ConfigFile;
using targets::TargetNames;

// A model in memory: a normalized graph, quantized or not. Copies share their content. Weights are views of the
// file from which they were read.
class Model {
 public:
  struct Content;  // private to the library
  explicit Model(std::shared_ptr<Content> content) : content_(std::move(content)) {}

  // Both are empty if the model was moved from.
  [[nodiscard]] const std::string& name() const;          // the name in messages
  [[nodiscard]] const std::string& quantization() const;  // how it was quantized: "none", "imported", "calibrated" ...
  [[nodiscard]] const std::shared_ptr<Content>& content() const { return content_; }

 private:
  std::shared_ptr<Content> content_;
};

// The names of all supported targets. Source: Vela 5.2, values of --accelerator-config.
std::vector<std::string_view> targets();

// Reads a file that torch.export.save() of torch 2.9 to 2.15 wrote and normalizes the model. The result is the float
// (or already quantized) model as an ATen graph. Its weights are views of `pt2`, and the model keeps that buffer alive;
// Buffer::copy_of() makes a Buffer from a span. `name` is the model's name in messages. Errors, all at once: the file
// is not such an archive or is damaged; operators are unknown or cannot be normalized.
Result<Model> import_pt2(const Buffer& pt2, std::string_view name, const Log& log = {});

// Returns the names, types and shapes of the model's inputs, in order. A Sample must match them.
std::vector<InputType> inputs(const Model& model);

struct QuantizeOptions {
  QuantizeMode mode = QuantizeMode::kAuto;
  quantize::Scheme scheme = {};  // data types, granularity, ranges, overrides; int8 by default
  int threads = 1;
  std::stop_token stop = {};
};

// Returns the quantized model. A model that convert_pt2e quantized keeps its parameters; other models are calibrated on
// `samples` and quantized by the scheme. Each sample has one tensor per input, of exactly the input's type and shape.
// Without samples a float model stays float, which a note says. Errors: kAlways without samples (usage), samples of the
// wrong type or shape, values that are not finite.
Result<Model> quantize(Model model, std::span<const Sample> samples, const QuantizeOptions& options = {},
                       const Log& log = {});

using options::PartitionOptions;  // the nodes that stay on the CPU, by name, operator or module

// A TOSA 1.0 FlatBuffer from which one delegate is compiled. Its inputs and outputs are the inputs and outputs of the
// delegate call, in order.
using TosaFile = std::vector<std::byte>;

// Where a node of the normalized graph runs, and the reason.
struct Decision {
  std::string name;
  std::string op;         // "aten.conv2d.default"
  std::string source;     // "model.py:41"; may be empty
  std::string user_node;  // the node of the exported graph from which it was made; empty: none
  bool runs_on_npu = false;
  int delegate = -1;       // index in Partition::delegates; -1: the CPU
  std::string reason;      // "stride_y is 5, at most 3 is supported"; on the NPU: "supported"
  std::string hint;        // a change that would put the node on the NPU; may be empty
  std::string rule;        // the rule that rejects it: "conv.stride"; empty on the NPU
  int64_t cpu_cycles = 0;  // cycles of a Cortex-M55 for one call, an estimate; 0 on the NPU
};

// A model partitioned between CPU and NPU: the CPU program, which calls the delegates, and one TOSA graph per delegate.
struct Partition {
  struct Content;                   // private to the library: the CPU program
  std::vector<Decision> decisions;  // one per node of the normalized graph
  std::shared_ptr<const Content> program;
  std::vector<TosaFile> delegates;
};

// Partitions the model for a target and lowers the NPU's subgraphs to TOSA. Errors: an unknown target or node (usage);
// nodes that cannot be lowered.
Result<Partition> partition(const Model& model, const TargetNames& target, const PartitionOptions& options = {},
                            const Log& log = {});

// The goal of the schedules, the maximum size of the arena in bytes (0: no limit), and whether products of two
// activations are compiled as convolutions whose weight stream the NPU writes. Such products are exact on the simulator
// and not confirmed on silicon; a warning says so.
struct DelegateOptions : options::ScheduleOptions {
  int threads = 1;
  bool artifacts = false;     // whether to make DelegateBlob::artifacts
  bool layers = false;        // whether to make DelegateReport::layers and DelegateReport::memory_map
  std::stop_token stop = {};  // also of compile() and explain(), as CompileOptions::delegate has it
};

// Returns the whole model as one TOSA 1.0 FlatBuffer in the idioms of a target, which compile_delegate() accepts.
// Inputs and outputs are the model's, in order, with its types (int64 becomes int32). Errors: an unknown target
// (usage); nodes that cannot be lowered; an input or output that is quantized only inside the model, since lowering
// would change its type.
Result<TosaFile> to_tosa(const Model& model, const TargetNames& target, const Log& log = {});

// The result of to_tosa() with the origin of each operator. `locations` maps names of the user's nodes to the text that
// the file stores as the location of the operators made from them; other operators store their line of the model.
struct TosaOperator {
  std::string op;      // "CONV2D"
  std::string result;  // the name of its first result
  std::string node;    // of the user's model; empty: made for no node
};
struct TracedTosa {
  TosaFile tosa;
  std::vector<TosaOperator> operators;  // in the file's order, without constants
};
Result<TracedTosa> to_traced_tosa(const Model& model, const TargetNames& target,
                                  const std::map<std::string, std::string>& locations = {}, const Log& log = {});

// The supported options among Vela's flags.
struct Flags {
  TargetNames target;
  DelegateOptions delegate;
};

// Reads the compile spec "compile_flags" that ExecuTorch's Arm backend passes to preprocess(): flags of Vela 5.2
// separated by blanks. Files of --config are read from disk. Notes: flags without effect, each with the reason. Errors
// (usage), all at once: unknown flags with the nearest name; unsupported flags; invalid values.
Result<Flags> read_flags(std::string_view compile_flags, const Log& log = {});

// A file that shows how a delegate was compiled.
struct Artifact {
  std::string suffix;  // "vela.npz"
  std::vector<std::byte> bytes;
};

// A compiled delegate in the form in which an ExecuTorch program stores it. A backend's preprocess() returns the same
// data.
struct DelegateBlob {
  std::string backend_id;                                          // "EthosUBackend"
  std::vector<std::byte> blob;                                     // what the runtime on the device parses
  std::vector<std::pair<std::string, std::string>> compile_specs;  // key and value
  results::DelegateReport report;                                  // sizes in bytes; cycles per inference, an estimate
  std::vector<Artifact> artifacts = {};                            // files that show how the delegate was compiled
};

// Compiles one TOSA graph (FlatBuffer 1.0 or 0.80, one region, integer types) so that all of it runs on the target. An
// ExecuTorch plug-in calls it in preprocess(). Inputs and outputs of the blob are the graph's, in order. Errors: the
// reader's and the verifier's; all operators, types and shapes that the target does not support, each with its node; an
// arena above the limit, with the tensors that cause it.
Result<DelegateBlob> compile_delegate(std::span<const std::byte> tosa, const TargetNames& target,
                                      const DelegateOptions& options = {}, const Log& log = {});

// Returns an ExecuTorch program (.pte) made from a partition and its compiled delegates; blobs[i] is compiled from
// partition.delegates[i]. Errors: all operators on the CPU for which ExecuTorch has no kernel.
Result<std::vector<std::byte>> package(const Partition& partition, std::span<const DelegateBlob> blobs);

struct CompileOptions {
  PartitionOptions partition;
  DelegateOptions delegate;
  // Budgets of the whole program: CompileReport's sram_bytes_of() and program_bytes. 0: no limit. DelegateOptions has
  // the limit of the arena alone.
  int64_t sram_budget_bytes = 0;
  int64_t flash_budget_bytes = 0;
};

struct Program {
  std::vector<std::byte> pte;  // an ExecuTorch program
  results::CompileReport report;
};

// Partitions a model, compiles its delegates and packages the result as an ExecuTorch program. A node that the target's
// compiler rejects runs on the CPU; its decision gives the reason. Errors: those of partition() and compile_delegate();
// a program that exceeds a budget; all operators that neither the target nor a kernel of ExecuTorch can run.
Result<Program> compile(Model model, const TargetNames& target, const CompileOptions& options = {},
                        const Log& log = {});

// Compiles a TOSA graph and packages it as a program of one delegate call, with the graph's inputs and outputs.
Result<Program> package_tosa(std::span<const std::byte> tosa, const TargetNames& target,
                             const DelegateOptions& options = {}, const Log& log = {});

// Reports the disposition of each node of the user's model. `errors` of the report holds everything that prevents
// compilation. Errors: a file that cannot be read or an unknown target, since then there is no report.
Result<results::CompileReport> explain(const Buffer& pt2, std::string_view name, std::span<const Sample> samples,
                                       const TargetNames& target, const CompileOptions& options = {},
                                       const Log& log = {});

struct RunOptions {
  bool timed = false;  // also estimate cycles: RunOutcome::npu
  // Memories of a timed run; empty: those for which the program was compiled. A program compiled for sections of a
  // vela.ini of one's own needs that file here: without it a timed run is an error.
  TargetNames memories = {};
  int threads = 1;
  std::string method = {};        // a method's name; empty: "forward", else the first
  std::vector<Buffer> data = {};  // .ptd files with the tensors stored outside of the program
  std::stop_token stop = {};
};

// The outputs of one inference and its measurements.
struct RunOutcome {
  std::vector<NamedTensor> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  results::NpuReport npu;  // of Ethos-U delegates
};

// Runs an ExecuTorch program once; carina/session.h loads a program for many runs. CPU kernels run in Carina's runtime;
// Ethos-U delegates run on the simulator with the bits of the NPU. `inputs` has one tensor per input, in order. Errors:
// a damaged program, an unknown backend or kernel, inputs whose number, type, shape or size in bytes differs, faults
// that the simulator detects.
Result<RunOutcome> run(const Buffer& pte, const Sample& inputs, const RunOptions& options = {}, const Log& log = {});

}  // namespace carina::api
