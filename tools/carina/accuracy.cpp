#include "explore/accuracy.h"

#include "accuracy_sharing.h"
#include "cluster.h"
#include "cluster_options.h"
#include "command.h"
#include "explore/layer_accuracy.h"
#include "files/command_files.h"
#include "image_options.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"
#include "report/render.h"

// `carina accuracy`: compares a program or a scheme with the float model on samples, in total or layer by layer.
namespace carina::cli {
namespace accuracy_command {
namespace {

struct Options {
  explore::AccuracyRequest program;
  driver::CompileRequest model;  // the loop rounds; with --layers, also the quantization
  bool layers = false;
  int64_t samples = 0;  // with --layers; 0: all
  std::string page;     // empty: no page
  ClusterOptions cluster;
  std::string state;

  [[nodiscard]] SharedAccuracy shared() const { return {.request = program, .state = state, .job = cluster.job}; }
};

// Prints the report and writes its page.
template <typename Report>
Result<std::string> written(const Result<Report>& report, const Options& options, const Console& console) {
  if (report) CARINA_CHECKED(write_page(options.page, *report));
  return shown(report, console);
}

Result<void> check(const Options& options) {
  const ClusterOptions& cluster = options.cluster;
  return files::check_files({.inputs = {options.program.model, options.program.program, options.program.data,
                                        options.model.calibration, cluster.tls_ca, cluster.tls_cert, cluster.tls_key},
                             .outputs = {{"--report", options.page},
                                         {"--performance-report", cluster.performance},
                                         {"--progress", cluster.progress == "-" ? "" : cluster.progress}},
                             .folders = {}});
}

Result<std::string> compared(const Options& options, const Console& console) {
  CARINA_CHECKED(check(options));
  if (options.cluster.only_kept) return written(kept_accuracy(options.shared()), options, console);
  if (!options.layers) {
    if (!options.program.program.empty())
      return written(explore::accuracy(options.program, console.log()), options, console);
    return fail(
        {.where = "carina accuracy",
         .what = "an argument is missing: give the .pte that was made from the model, or --layers for the model alone",
         .fault = Fault::kUsage});
  }
  const explore::LayerAccuracyRequest request{.model = options.program.model,
                                              .data = options.program.data,
                                              .calibration = options.model.calibration,
                                              .images = options.model.images,
                                              .quantize = options.model.quantize,
                                              .loop_rounds = options.model.loop_rounds,
                                              .samples = options.samples,
                                              .target = options.model.target,
                                              .threads = console.threads};
  return written(explore::layer_accuracy(request, console.log()), options, console);
}

// Errors (usage): options that a cluster does not support. Only the comparison with a program runs on a cluster.
Result<void> check_cluster(const CLI::App& app, const Options& options) {
  CARINA_CHECKED(check(options));
  const bool threads = app.get_option("--threads")->count() > 0;
  if (!options.program.metric.empty())
    return fail({.where = "--metric", .what = "this option cannot be used with --scheduler", .fault = Fault::kUsage});
  if (!options.layers && !threads && !options.program.program.empty()) return {};
  return fail({.where = options.layers ? "--layers"
                        : threads      ? "--threads"
                                       : "carina accuracy",
               .what = options.layers || threads ? "this option cannot be used with --scheduler"
                                                 : "an argument is missing: give the .pte that was made from the model",
               .fault = Fault::kUsage});
}

// Checks the options before Python starts and connects to the cluster.
Result<std::string> on_cluster(const CLI::App& app, const Options& options, const Console& console) {
  CARINA_CHECKED(check_cluster(app, options));
  CARINA_TRY(std::string described, describe_accuracy(app, options.shared()));
  if (options.cluster.describe) return described;
  return fail(run_as_cluster_program(console.arguments));
}

int run(const CLI::App& app, const Options& options, const Console& console) {
  if (!options.cluster.job.empty()) return score_part(options.shared());
  const bool shared = !options.cluster.scheduler.empty() && !options.cluster.only_kept;
  return finish(options.layers ? options.program.model : options.program.program,
                shared ? on_cluster(app, options, console) : compared(options, console), console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static Options options;
  explore::AccuracyRequest& request = options.program;
  app.add_option("model", request.model, "The float .pt2 or .tflite")->required()->transform(input_path());
  app.add_option("program", request.program, "The .pte made from it")->transform(input_path());
  app.add_option("--data", request.data,
                 "An .npz with inputs (x, or the names of the model's inputs) and labels y, or a folder of such files; "
                 "or a folder with a folder of images for each class. Without labels: only the SQNR of the outputs")
      ->required()
      ->transform(input_path());
  app.add_option(
      "--metric", request.metric,
      "What to measure of the first output with the labels y: top1, top5, pixel (a class per pixel or step), "
      "iou, psnr, rmse; default: top1 if there are labels");
  app.add_option("--dump", request.dump_folder, "The folder that `carina compile --dump` wrote, for the integer graph")
      ->check(path());
  app.add_flag("--layers", options.layers,
               "Quantize the model and compare it layer by layer: where the error enters, and what other schemes give");
  app.add_option("--samples", options.samples,
                 "With --layers: compare on so many samples, the first ones; default: all")
      ->check(CLI::PositiveNumber)
      ->needs(app.get_option("--layers"));
  add_options_of(app, {OptionGroup::kLoop, OptionGroup::kQuantize}, options.model);
  app.add_option("-t,--target", options.model.target.accelerator,
                 "With --layers: the NPU whose cycles stand beside each scheme, as `carina targets` lists them")
      ->needs(app.get_option("--layers"));
  add_image_options(app, options.model.images);
  add_page_option(app, options.page);
  add_cluster_options(app, options.cluster, "sample");
  app.add_option("--state", options.state,
                 "Keep the scores of samples in this folder. The same command then runs only the other samples")
      ->check(path())
      ->needs(app.get_option("--scheduler"))
      ->group(section::kCluster);
  app.callback([&] {
    action = [&] {
      request.loop_rounds = options.model.loop_rounds;
      request.images = options.model.images;
      request.threads = console.threads;
      return run(app, options, console);
    };
  });
}

}  // namespace
}  // namespace accuracy_command

const Command kAccuracy{.name = "accuracy",
                        .summary = "Compare the float model, the integer graph and the NPU on data, labeled or not",
                        .examples =
                            "  carina accuracy model.pt2 model.pte --data labelled.npz --dump build/dump\n"
                            "  carina accuracy model.pt2 --layers --data inputs.npz --quantize int8",
                        .add_options = accuracy_command::add_options};

}  // namespace carina::cli
