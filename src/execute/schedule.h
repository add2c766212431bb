// Declares the run of a program's methods in a given order.
#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "execute/run_program.h"
#include "results/run_report.h"

namespace carina::execute {

// Runs the methods of a program in the order of a JSON file: a list of objects with the name of the method and its
// inputs, in order or each by a name of its own. State passes from each step to the next, also from method to method.
// Output k of step n is written to FOLDER/step<n>_<k>.npy, or to FOLDER/step<n>.npy if each method of the list has one
// output; an empty folder: none is written. The report is that of the last step. Errors: those of ProgramSession; a
// file that is no such list; inputs that do not match.
//   Example: [{"method": "prefill", "tokens": [[5, 9]], "pos": [0, 1]}, {"method": "decode", "inputs": [[[7]], [2]]}]
Result<results::RunReport> run_schedule(const Buffer& program, const std::string& where, const std::string& schedule,
                                        const std::string& folder, const RunOptions& options, const Log& log);

}  // namespace carina::execute
