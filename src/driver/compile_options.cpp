#include "driver/compile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/io/file.h"
#include "base/text/nearest.h"
#include "datasets/random_samples.h"
#include "datasets/sample_reader.h"
#include "driver/flat_tosa.h"
#include "files/file_kind.h"
#include "files/tflite_file.h"
#include "files/tosa_file.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/signatures.h"
#include "frontend/tflite/to_aten/to_aten.h"
#include "targets/board_list.h"
#include "vela/vela_flags.h"

namespace carina::driver {

namespace {

models::QuantizeRequest::Origin origin_of(const CompileRequest& request) {
  using Origin = models::QuantizeRequest::Origin;
  if (request.samples) return Origin::kData;
  if (request.calibration == datasets::kRandomData) return Origin::kRandom;
  const bool stays_float = request.quantize.scheme == "none" || request.delegates == DelegateMode::kNothing;
  return request.calibration.empty() && request.estimates && !stays_float ? Origin::kStandIn : Origin::kData;
}

models::SampleSource samples_of(const CompileRequest& request, const Log& log) {
  if (request.samples) return request.samples;
  if (origin_of(request) != models::QuantizeRequest::Origin::kData) return datasets::random_samples;
  if (request.calibration.empty()) return {};
  return [path = request.calibration, images = request.images, log](std::span<const datasets::InputType> inputs) {
    return datasets::open_data_set(path, inputs, log, images);
  };
}

bool is_asked_to_quantize(const CompileRequest& request) {
  return !request.quantize.scheme.empty() && request.quantize.scheme != "none";
}

backends::Artifacts artifacts_of(const CompileRequest& request) {
  const bool is_artifact =
      request.output == CompileRequest::Output::kStream || request.output == CompileRequest::Output::kVgf;
  if (!request.dump_folder.empty() || is_artifact) return backends::Artifacts::kKeep;
  return request.layers ? backends::Artifacts::kLayers : backends::Artifacts::kDrop;
}

}  // namespace

Result<models::QuantizeRequest> quantization_of(const CompileRequest& request, const Log& log) {
  CARINA_TRY(models::QuantizeRequest quantize, models::parse_quantize_flags(request.quantize));
  quantize.samples = samples_of(request, log);
  quantize.data = request.calibration;
  quantize.origin = origin_of(request);
  if (quantize.auto_goal && quantize.origin != models::QuantizeRequest::Origin::kData)
    return fail({.where = "--quantize auto",
                 .what = "it measures accuracy, which random inputs do not show",
                 .expected = "--calibrate FILE.npz with real inputs of the model",
                 .fault = Fault::kUsage});
  quantize.threads = request.threads;
  return quantize;
}

backends::DelegateOptions delegate_options_of(const CompileRequest& request) {
  backends::DelegateOptions options{static_cast<const options::ScheduleOptions&>(request)};
  options.threads = request.threads;
  options.artifacts = artifacts_of(request);
  options.shown = request.shown;
  return options;
}

Result<CompileOptions> options_of(const CompileRequest& request, const Log& log) {
  CARINA_TRY(models::QuantizeRequest quantize, quantization_of(request, log));
  CompileOptions options;
  static_cast<options::PipelineOptions&>(options) = request;
  options.quantize = std::move(quantize);
  options.split = {static_cast<const options::PartitionOptions&>(request)};
  options.split.passes = request.passes;
  options.delegate = delegate_options_of(request);
  options.shapes = request.shapes;
  options.signature = request.signature;
  return options;
}

tflite::Rounding rounding_of(const CompileRequest& request) {
  return request.rounding == options::TfliteRounding::kVela ? tflite::Rounding::kVela : tflite::Rounding::kLiteRt;
}

models::ImportOptions import_options_of(const CompileRequest& request) {
  return {.passes = request.passes,
          .loop_rounds = request.loop_rounds,
          .shapes = request.shapes,
          .signature = request.signature};
}

namespace {

// Sets what the request does not name to the board's.
Result<void> set_board(CompileRequest& request) {
  if (request.board.empty()) return {};
  CARINA_TRY(const npu::Board* board, targets::find_board(request.board));
  const auto set = [](std::string& name, std::string_view of_board) {
    if (name.empty()) name = of_board;
  };
  set(request.target.accelerator, board->accelerator);
  set(request.target.system_config, board->system.name);
  set(request.target.memory_mode, board->memory_mode);
  if (!request.sram_budget_bytes) request.sram_budget_bytes = board->sram_bytes;
  if (!request.flash_budget_bytes) request.flash_budget_bytes = board->flash_bytes;
  request.board.clear();
  return {};
}

Result<void> set_vela_flags(CompileRequest& request, const Log& log) {
  if (request.vela_flags.empty()) return {};
  CARINA_TRY(const vela::VelaFlags flags, vela::read_vela_flags(request.vela_flags, log));
  CARINA_CHECKED(vela::add_vela_flags(flags, request.target, request.optimize));
  std::ranges::copy(flags.shown, std::back_inserter(request.shown));
  return {};
}

Result<void> set_shown(CompileRequest& request) {
  for (const std::string& name : request.show) {
    const auto found = std::ranges::find(backends::kShowNames, name);
    if (found == backends::kShowNames.end())
      return fail({.where = "--show",
                   .what = "unknown part",
                   .expected = fmt::format("{}", fmt::join(backends::kShowNames, ", ")),
                   .got = name,
                   .hint = nearest_hint(name, {backends::kShowNames.begin(), backends::kShowNames.end()}),
                   .fault = Fault::kUsage});
    request.shown.push_back(static_cast<backends::Show>(found - backends::kShowNames.begin()));
  }
  request.show.clear();
  return {};
}

}  // namespace

Result<CompileRequest> with_flags(CompileRequest request, const Log& log) {
  CARINA_CHECKED(set_shown(request));
  CARINA_CHECKED(set_vela_flags(request, log));
  CARINA_CHECKED(set_board(request));
  return request;
}

namespace {

Result<Buffer> model_file(const CompileRequest& request) {
  return request.file.size() == 0 ? map_file(request.model) : Result<Buffer>(request.file);
}

bool is_float_tflite(const CompileRequest& request) {
  const auto file = model_file(request);
  return file && models::is_float_tflite(*file, request.model);
}

}  // namespace

bool is_graph(const CompileRequest& request) {
  const files::FileKind kind = files::kind_of(request.file);
  const bool is_one = request.file.size() == 0 ? files::is_graph_file(request.model)
                                               : kind == files::FileKind::kTosa || kind == files::FileKind::kVgf ||
                                                     kind == files::FileKind::kTflite;
  return is_one && !is_float_tflite(request);
}

namespace {

struct FileGraph {
  ir::Module module;
  std::vector<pt2::ModelNode> operators = {};  // of a LiteRT file: the origins of the nodes
};

Result<FileGraph> file_graph(const CompileRequest& request, const std::string& level) {
  using enum files::FileKind;
  CARINA_TRY(const Buffer file, model_file(request));
  const bool has_path = request.file.size() == 0;
  if (has_path) CARINA_CHECKED(files::check_kind(file, request.model, {kTosa, kVgf, kTflite}));
  if (files::kind_of(file) == kTflite) {
    const auto borders = request.quantize.io.empty() ? files::FloatBorders::kKept : files::FloatBorders::kCut;
    CARINA_TRY(files::TfliteGraph graph, files::sound_tflite(file, request.model, level,
                                                             {.borders = borders,
                                                              .rounding = rounding_of(request),
                                                              .shapes = request.shapes,
                                                              .signature = request.signature}));
    FileGraph out{.module = std::move(graph.module)};
    for (files::NamedOperator& op : graph.operators)
      out.operators.push_back({.name = std::move(op.name), .op = std::move(op.op), .source = {}});
    return out;
  }
  CARINA_TRY(ir::Module module,
             has_path ? files::sound_tosa(file, request.model, level) : files::sound_graph(file, request.model, level));
  return FileGraph{.module = std::move(module)};
}

}  // namespace

Result<ir::Module> graph_of(const CompileRequest& request, const std::string& level) {
  CARINA_TRY(FileGraph made, file_graph(request, level));
  return std::move(made.module);
}

Result<Buffer> pt2_file(const CompileRequest& request) {
  CARINA_TRY(Buffer file, model_file(request));
  if (!models::is_float_tflite(file, request.model))
    CARINA_CHECKED(files::check_kind(file, request.model, {files::FileKind::kPt2}));
  return file;
}

Result<Buffer> tflite_file(const CompileRequest& request) {
  CARINA_TRY(const Buffer file, model_file(request));
  if (files::kind_of(file) == files::FileKind::kTflite) return file;
  return fail({.where = request.model,
               .what = "a .tflite is made of a .tflite only",
               .expected = "a LiteRT (TensorFlow Lite) model",
               .got = std::string(files::text_of_kind(files::kind_of(file, request.model))),
               .hint = "-o FILE.pte compiles other models",
               .fault = Fault::kUsage});
}

std::vector<std::string> signatures_of(const CompileRequest& request) {
  const bool is_program = request.output == CompileRequest::Output::kProgram;
  const auto file = model_file(request);
  if (!is_program || !file || files::kind_of(*file) != files::FileKind::kTflite) return {};
  const auto model = tflite::read_model(*file, request.model);
  if (!model || tflite::computes_in_floats(*model)) return {};
  return tflite::separate_signatures(*model);
}

Result<TosaGraph> read_tosa_graph(const CompileRequest& request, const Log& log) {
  const bool has_data = request.samples || !request.calibration.empty();
  if (has_data || is_asked_to_quantize(request)) {
    log.note({.where = request.model,
              .what = "the calibration data are not used: the types of a TOSA file are fixed",
              .severity = Severity::kNote});
  }
  CARINA_TRY(FileGraph made, file_graph(request, "8K"));
  CARINA_TRY(ir::Graph graph, flat_tosa(std::move(made.module), request.loop_rounds, request.model, log));
  return TosaGraph{.graph = std::move(graph), .operators = std::move(made.operators)};
}

}  // namespace carina::driver
