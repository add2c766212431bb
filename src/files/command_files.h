#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::files {

// The files that a command line names, as far as they are known before the command runs.
struct CommandFiles {
  struct Output {
    std::string option;  // "--output"
    std::string path;    // empty if not requested
  };
  struct OutputFolder {
    std::string option;
    std::string path;                   // empty if not requested
    std::optional<std::string> writes;  // the prefix of the names of its new files: "output_"; unknown before the run
  };
  struct Input {
    std::string option;
    std::string path;  // empty if not given
  };
  std::vector<Input> read_by_option = {};  // files and folders that must exist, even if they are not used
  std::vector<std::string> inputs;         // files, and folders of which all files are read; empty strings are ignored
  std::vector<Output> outputs;
  std::vector<OutputFolder> folders;
};

// Checks the files of a command before any work. Errors (usage): an output that is an input of the same command, under
// any name or link; an output that is a folder or whose folder is missing; two outputs that are the same file; files of
// `read_by_option` that do not exist.
Result<void> check_files(const CommandFiles& files);

}  // namespace carina::files
