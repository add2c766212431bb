#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "report/sweep_job.h"
#include "sweep_options.h"

// The models of `carina sweep`, each with its options: those of the command line, or those of a section of --models.

namespace carina::cli {

// What an option is for. Rows depend on kRow, on the files of kFile and on the axes of kAxis; not on kHere.
enum class Use : uint8_t { kRow, kFile, kAxis, kHere };
Use use_of(std::string_view option);
// Whether an option has a meaning together with --scheduler.
bool is_for_cluster(std::string_view option);

// The options of a command line that were given, with their long names.
std::vector<report::GivenOption> given_options(const CLI::App& app, const SweepOptions& options,
                                               const std::string& model);

struct ModelSweep {
  std::string name;  // in tables: the path, or the name of the section
  explore::SweepRequest request;
  std::vector<report::GivenOption> given;
};

// Errors (usage): two models of one name; a section with an unknown option, or without a model.
Result<std::vector<ModelSweep>> models_of(const CLI::App& app, const SweepOptions& options);

// "sweep_kws.html": the page of one model, beside the page of all.
std::string page_of_model(const std::string& page, const std::string& model);

}  // namespace carina::cli
