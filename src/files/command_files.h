#pragma once

#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::files {

// The files that a command line names, as far as they are known before it does anything.
struct CommandFiles {
  struct Output {
    std::string option;  // "--output"
    std::string path;    // empty: not asked for
  };
  struct OutputFolder {
    std::string option;
    std::string path;    // empty: not asked for
    std::string writes;  // what the names of its new files begin with: "output_"
  };
  struct Input {
    std::string option;
    std::string path;  // empty: not given
  };
  std::vector<Input> read_by_option = {};  // files and folders that must be there, used or not
  std::vector<std::string> inputs;         // files, and folders whose files are all read; empty ones do not count
  std::vector<Output> outputs;
  std::vector<OutputFolder> folders;
};

// To be asked before any work. Errors, all of usage: an output that is an input of the same command, by whatever name
// or link; an output that is a folder, or whose folder is missing; two outputs that are one file; files of
// `read_by_option` that are not there.
Result<void> check_files(const CommandFiles& files);

}  // namespace carina::files
