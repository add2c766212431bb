#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "report/sweep_job.h"
#include "sweep_options.h"

// Declares the models of `carina sweep` with their options, from the command line or from a section of --models.

namespace carina::cli {

// The purpose of an option. Rows depend on the values of kRow and kAxis, and on the contents of the files of kFile.
// They do not depend on kHere.
enum class Use : uint8_t { kRow, kFile, kAxis, kHere };
Use use_of(std::string_view option);
// Likewise, with the value: --calibrate random names no file.
Use use_of(const report::GivenOption& option);
// Returns whether an option can be used with --scheduler.
bool is_for_cluster(std::string_view option);

// Returns the options that were given on a command line, with their long names.
std::vector<report::GivenOption> given_options(const CLI::App& app, const SweepOptions& options,
                                               const std::string& model);

struct ModelSweep {
  std::string name;  // in tables: the path, or the name of the section
  explore::SweepRequest request;
  std::vector<report::GivenOption> given;
};

// Errors (usage): two models of one name; a section with an unknown option, or without a model.
Result<std::vector<ModelSweep>> models_of(const CLI::App& app, const SweepOptions& options);

// Returns the file of one model's page, beside the page of all models: sweep.html and kws give sweep_kws.html.
std::string page_of_model(const std::string& page, const std::string& model);

}  // namespace carina::cli
