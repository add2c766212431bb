// Declares the compilation of several models as the methods of one program.
#pragma once

#include "backends/backend.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"

namespace carina::driver {

// Compiles the request's model and those of `methods` to one program, or the signatures of the request's LiteRT file.
// Buffers of one name are one state of the program,
// if one of the methods changes them, with one scale. The report is of the request's own model, with the size of the
// whole program; it has the reports of the other methods too, and the dump folder has the delegates of all. Errors:
// those of compile() for each method; names that are not distinct; a file without methods, such as a .tosa; states that
// do not fit each other; an output other than a .pte (usage).
Result<Compiled> compile_methods(const CompileRequest& request, const backends::Backend& backend, const Log& log);

// explain() of several methods: the report of each, also of those that cannot be compiled. Errors: those of explain()
// for each method; names that are not distinct; a file without methods.
Result<results::CompileReport> explain_methods(const CompileRequest& request, const backends::Backend& backend,
                                               const Log& log);

}  // namespace carina::driver
