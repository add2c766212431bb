#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "driver/compilation.h"
#include "driver/compile.h"

namespace carina::driver {

// What the stages are asked for by a request. Errors (usage): unknown quantization flags.
Result<models::QuantizeRequest> quantization_of(const CompileRequest& request);
models::ImportOptions import_options_of(const CompileRequest& request);
backends::DelegateOptions delegate_options_of(const CompileRequest& request);
Result<CompileOptions> options_of(const CompileRequest& request);

// The request with what its Vela flags say. Errors (usage): as read_vela_flags()'s.
Result<CompileRequest> with_flags(CompileRequest request, const Log& log);

// The request's model, from its file or from memory: whether it is a TOSA or VGF graph, and what it then is; else the
// .pt2. Errors: the readers' and the verifier's; another kind of file.
bool is_graph(const CompileRequest& request);
Result<ir::Module> graph_of(const CompileRequest& request, const std::string& level);
Result<Buffer> pt2_file(const CompileRequest& request);

// The one graph of such a file. Errors: the same; control flow.
Result<ir::Graph> read_tosa_graph(const CompileRequest& request, const Log& log);

}  // namespace carina::driver
