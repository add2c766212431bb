// Converts a CompileRequest to the options and inputs of the pipeline's stages.
#pragma once

#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/compilation.h"
#include "driver/compile.h"
#include "frontend/tflite/model.h"

namespace carina::driver {

// These functions return the options of one stage. Errors (usage): unknown quantization flags.
Result<models::QuantizeRequest> quantization_of(const CompileRequest& request, const Log& log);
models::ImportOptions import_options_of(const CompileRequest& request);
tflite::Rounding rounding_of(const CompileRequest& request);
backends::DelegateOptions delegate_options_of(const CompileRequest& request);
Result<CompileOptions> options_of(const CompileRequest& request, const Log& log);

// Returns the request with the settings of its Vela flags, and then those of its board where nothing else sets them,
// and with the parts that --show names. Errors (usage): those of read_vela_flags(); an unknown board or part.
Result<CompileRequest> with_flags(CompileRequest request, const Log& log);

// is_graph(): whether the request's model, a file or bytes in memory, is a TOSA or VGF graph, or a LiteRT file of
// integers. graph_of() reads that graph; pt2_file() returns the bytes of a .pt2, or of a LiteRT file of floats. Errors:
// the readers' and the verifier's; a file of another kind.
bool is_graph(const CompileRequest& request);
Result<ir::Module> graph_of(const CompileRequest& request, const std::string& level);
Result<Buffer> pt2_file(const CompileRequest& request);
// Returns the bytes of a .tflite, which is the only input of a .tflite as the output.
Result<Buffer> tflite_file(const CompileRequest& request);

// The signatures of a LiteRT file of integers that become methods of a program; none if they have one graph.
std::vector<std::string> signatures_of(const CompileRequest& request);

// Reads a TOSA, VGF or LiteRT file as one graph (flat_tosa.h). Errors: those of graph_of() and flat_tosa().
Result<TosaGraph> read_tosa_graph(const CompileRequest& request, const Log& log);

}  // namespace carina::driver
