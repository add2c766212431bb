#include <algorithm>
#include <new>
#include <string>
#include <string_view>

#include "api/check_options_internal.h"
#include "api/set_option_internal.h"
#include "base/guarded.h"
#include "carina/api.h"
#include "carina/carina.h"
#include "carina/session.h"
#include "carina/version.h"
#include "datasets/samples.h"
#include "driver/compile.h"
#include "files/file_kind.h"

// The C API (carina/carina.h). No exception leaves a function: a failure becomes a fault and the text of an error,
// which the caller frees.
struct carina_error {
  std::string text;
};

struct carina_program {
  carina::driver::Compiled program;
};

struct carina_session {
  carina::Session session;
};

namespace carina {
namespace {

static_assert(CARINA_MAX_RANK == Shape::kMaxRank);

carina_fault fault_of(const Diagnostics& errors) {
  if (errors.empty()) return CARINA_FAULT_INTERNAL;
  switch (errors.front().fault) {
    case Fault::kInput:
      return CARINA_FAULT_INPUT;
    case Fault::kUsage:
      return CARINA_FAULT_USAGE;
    case Fault::kEnvironment:
      return CARINA_FAULT_ENVIRONMENT;
    case Fault::kInternal:
      return CARINA_FAULT_INTERNAL;
  }
  return CARINA_FAULT_INTERNAL;
}

// Without memory for the text of an error there is the fault alone.
carina_fault set_error(const Diagnostics& errors, carina_error** error) noexcept {
  const carina_fault fault = fault_of(errors);
  if (error == nullptr) return fault;
  try {
    *error = new carina_error{to_string(errors)};
  } catch (...) {
    *error = nullptr;
  }
  return fault;
}

// Calls `body`, which returns a Result<void>; its failure and its exceptions become a fault.
template <typename Body>
carina_fault finish(carina_error** error, Body&& body) noexcept {
  try {
    const Result<void> done = guarded(body);
    return done ? CARINA_OK : set_error(done.error(), error);
  } catch (...) {  // no memory for a diagnostic
    return CARINA_FAULT_ENVIRONMENT;
  }
}

std::unexpected<Diagnostics> missing(std::string_view argument) {
  return fail({.where = std::string(argument), .what = "the pointer is NULL", .fault = Fault::kUsage});
}

// A structure of a caller with another header, or one that was not initialized.
Result<void> check_size(size_t got, size_t expected, std::string_view structure, std::string_view initializer) {
  if (got == expected) return {};
  return fail(
      {.where = std::string(structure),
       .what = "struct_size is not that of this version of the library",
       .expected = std::to_string(expected) + " (version " + std::string(version()) + ")",
       .got = std::to_string(got),
       .hint = "call " + std::string(initializer) + " first, and compile the caller with the header of the library",
       .fault = Fault::kUsage});
}

Result<void> check_size(const carina_compile_options& options) {
  return check_size(options.struct_size, sizeof options, "carina_compile_options", "carina_compile_options_init()");
}

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

Result<std::span<const std::byte>> bytes_of(carina_bytes bytes, std::string_view argument) {
  if (bytes.data == nullptr && bytes.size != 0) return missing(argument);
  return std::span(static_cast<const std::byte*>(bytes.data), bytes.size);
}

// A range whose first pointer is NULL must be empty.
template <typename T>
Result<std::span<const T>> range_of_caller(const T* first, size_t count, std::string_view argument) {
  if (first == nullptr && count != 0) return missing(argument);
  return std::span(first, count);
}

Result<void> check_request(const driver::CompileRequest& request) {
  api::DelegateOptions delegate{static_cast<const options::ScheduleOptions&>(request)};
  delegate.threads = request.threads;
  Diagnostics wrong;
  api::check_options(delegate, wrong);
  if (!wrong.empty()) return fail(std::move(wrong));
  return {};
}

// A request without bytes would mean the file of its name.
Result<void> check_file(const driver::CompileRequest& request, files::FileKind kind) {
  const files::FileKind found = files::kind_of(request.file);
  if (found == files::FileKind::kEmpty || (found == files::FileKind::kUnknown && kind == files::FileKind::kTosa))
    return fail({.where = request.model,
                 .what = "not such a file",
                 .expected = std::string(files::text_of_kind(kind)),
                 .got = std::string(files::text_of_kind(found))});
  return files::check_kind(request.file, request.model, {kind});
}

// The request for a model in memory. `kind` is what the file has to be.
Result<driver::CompileRequest> request_of(const carina_compile_options& options, std::string_view name,
                                          std::span<const std::byte> file, files::FileKind kind) {
  driver::CompileRequest request;
  request.model = name;
  request.file = Buffer(nullptr, file);  // the program has its weights; the model's views of the file end with the call
  request.target.accelerator = text_of(options.target);
  request.target.system_config = text_of(options.system_config);
  request.target.memory_mode = text_of(options.memory_mode);
  request.quantize.scheme = text_of(options.scheme);
  request.threads = options.threads;
  request.arena_budget_bytes = options.arena_budget_bytes;
  CARINA_TRY(const std::span<const carina_option> others,
             range_of_caller(options.options, options.option_count, "options"));
  for (const carina_option& option : others)
    CARINA_CHECKED(api::set_option(request, text_of(option.name), text_of(option.value)));
  CARINA_CHECKED(check_request(request));
  CARINA_CHECKED(check_file(request, kind));
  return request;
}

Result<std::vector<api::Sample>> samples_of(std::span<const carina_bytes> bytes,
                                            std::span<const api::InputType> inputs) {
  std::vector<api::Sample> samples;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (at % inputs.size() == 0) samples.emplace_back();
    const api::InputType& input = inputs[at % inputs.size()];
    CARINA_TRY(const std::span<const std::byte> data, bytes_of(bytes[at], "samples"));
    samples.back().push_back({.dtype = input.dtype, .shape = input.shape, .data = Buffer::copy_of(data)});
  }
  return samples;
}

// Gives the samples of the caller to a calibration.
models::SampleSource source_of(const carina_bytes* samples, size_t count) {
  if (count == 0) return {};
  return [samples, count](std::span<const api::InputType> inputs) -> Result<std::vector<api::Sample>> {
    if (inputs.empty()) return std::vector<api::Sample>();
    CARINA_TRY(const std::span<const carina_bytes> all, range_of_caller(samples, count * inputs.size(), "samples"));
    CARINA_TRY(std::vector<api::Sample> made, samples_of(all, inputs));
    for (const api::Sample& sample : made) CARINA_CHECKED(datasets::check_sample(sample, inputs));
    return made;
  };
}

Result<driver::Compiled> compile_pt2(carina_bytes pt2, const carina_bytes* samples, size_t count,
                                     const carina_compile_options& options) {
  CARINA_TRY(const std::span<const std::byte> file, bytes_of(pt2, "pt2"));
  CARINA_TRY(driver::CompileRequest request, request_of(options, "model.pt2", file, files::FileKind::kPt2));
  constexpr size_t kMaxSamples = size_t{1} << 24;
  if (count > kMaxSamples)
    return fail({.where = "sample_count",
                 .what = "there are too many samples",
                 .expected = "at most " + std::to_string(kMaxSamples),
                 .got = std::to_string(count),
                 .fault = Fault::kUsage});
  request.samples = source_of(samples, count);
  return driver::compile(request, {});
}

Result<void> give(driver::Compiled program, carina_program** out) {
  *out = new carina_program{std::move(program)};
  return {};
}

Result<void> give(Session session, carina_session** out) {
  *out = new carina_session{std::move(session)};
  return {};
}

carina_fault set_info(std::span<const InputType> types, size_t index, carina_tensor_info* info) {
  if (info == nullptr || info->struct_size != sizeof *info || index >= types.size()) return CARINA_FAULT_USAGE;
  const InputType& type = types[index];
  *info = {.struct_size = sizeof *info,
           .name = type.name.c_str(),
           .dtype = name_of(type.dtype).data(),  // of a table of literals
           .rank = type.shape.rank(),
           .shape = {},
           .bytes = tensor_bytes(type.dtype, type.shape)};
  std::ranges::copy(type.shape.dims(), info->shape);
  return CARINA_OK;
}

Result<void> run_session(Session& session, std::span<const carina_bytes> inputs,
                         std::span<const carina_memory> outputs) {
  std::vector<std::span<const std::byte>> from;
  for (const carina_bytes& input : inputs) {
    CARINA_TRY(from.emplace_back(), bytes_of(input, "inputs"));
  }
  std::vector<std::span<std::byte>> to;
  for (const carina_memory& output : outputs) {
    if (output.data == nullptr && output.size != 0) return missing("outputs");
    to.emplace_back(static_cast<std::byte*>(output.data), output.size);
  }
  return session.run_into(from, to);
}

}  // namespace
}  // namespace carina

using namespace carina;  // the functions below have names of C

extern "C" {

const char* carina_error_text(const carina_error* error) {
  return error == nullptr ? "" : error->text.c_str();
}

void carina_error_free(carina_error* error) {
  delete error;
}

const char* carina_version(void) {
  return version().data();
}

size_t carina_target_count(void) {
  size_t count = 0;
  (void)finish(nullptr, [&]() -> Result<void> {
    count = api::targets().size();
    return {};
  });
  return count;
}

const char* carina_target_name(size_t index) {
  const char* name = nullptr;
  (void)finish(nullptr, [&]() -> Result<void> {
    const std::vector<std::string_view> names = api::targets();
    if (index < names.size()) name = names[index].data();
    return {};
  });
  return name;
}

void carina_compile_options_init_sized(carina_compile_options* options, size_t struct_size) {
  if (options == nullptr) return;
  options->struct_size = struct_size;
  if (struct_size == sizeof *options)
    *options = {.struct_size = struct_size,
                .target = nullptr,
                .system_config = nullptr,
                .memory_mode = nullptr,
                .scheme = nullptr,
                .threads = 1,
                .arena_budget_bytes = 0,
                .options = nullptr,
                .option_count = 0};
}

carina_fault carina_compile(carina_bytes pt2, const carina_bytes* samples, size_t sample_count,
                            const carina_compile_options* options, carina_program** program, carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (options == nullptr) return missing("options");
    if (program == nullptr) return missing("program");
    CARINA_CHECKED(check_size(*options));
    CARINA_TRY(driver::Compiled compiled, compile_pt2(pt2, samples, sample_count, *options));
    return give(std::move(compiled), program);
  });
}

carina_fault carina_compile_tosa(carina_bytes tosa, const carina_compile_options* options, carina_program** program,
                                 carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (options == nullptr) return missing("options");
    if (program == nullptr) return missing("program");
    CARINA_CHECKED(check_size(*options));
    CARINA_TRY(const std::span<const std::byte> file, bytes_of(tosa, "tosa"));
    CARINA_TRY(const driver::CompileRequest request, request_of(*options, "model.tosa", file, files::FileKind::kTosa));
    CARINA_TRY(driver::Compiled compiled, driver::compile(request, {}));
    return give(std::move(compiled), program);
  });
}

carina_bytes carina_program_pte(const carina_program* program) {
  if (program == nullptr) return {.data = nullptr, .size = 0};
  return {.data = program->program.program.data(), .size = program->program.program.size()};
}

size_t carina_program_delegates(const carina_program* program) {
  return program == nullptr ? 0 : program->program.report.delegates.size();
}

int64_t carina_program_cycles(const carina_program* program) {
  return program == nullptr ? -1 : program->program.report.cycles.value_or(-1);
}

void carina_program_free(carina_program* program) {
  delete program;
}

carina_fault carina_session_load(carina_bytes pte, const char* method, carina_session** session, carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    CARINA_TRY(const std::span<const std::byte> file, bytes_of(pte, "pte"));
    CARINA_TRY(Session loaded, Session::load_in_place(file, {.method = text_of(method)}));
    return give(std::move(loaded), session);
  });
}

carina_fault carina_session_load_file(const char* path, const char* method, carina_session** session,
                                      carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (path == nullptr) return missing("path");
    if (session == nullptr) return missing("session");
    CARINA_TRY(Session loaded, Session::load_file(path, {.method = text_of(method)}));
    return give(std::move(loaded), session);
  });
}

carina_fault carina_session_clone(const carina_session* session, carina_session** clone, carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    if (clone == nullptr) return missing("clone");
    CARINA_TRY(Session another, session->session.clone());
    return give(std::move(another), clone);
  });
}

void carina_session_free(carina_session* session) {
  delete session;
}

size_t carina_session_inputs(const carina_session* session) {
  return session == nullptr ? 0 : session->session.inputs().size();
}

size_t carina_session_outputs(const carina_session* session) {
  return session == nullptr ? 0 : session->session.outputs().size();
}

carina_fault carina_session_input(const carina_session* session, size_t index, carina_tensor_info* info) {
  return session == nullptr ? CARINA_FAULT_USAGE : set_info(session->session.inputs(), index, info);
}

carina_fault carina_session_output(const carina_session* session, size_t index, carina_tensor_info* info) {
  return session == nullptr ? CARINA_FAULT_USAGE : set_info(session->session.outputs(), index, info);
}

carina_fault carina_session_run(carina_session* session, const carina_bytes* inputs, size_t input_count,
                                const carina_memory* outputs, size_t output_count, carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    CARINA_TRY(const std::span<const carina_bytes> from, range_of_caller(inputs, input_count, "inputs"));
    CARINA_TRY(const std::span<const carina_memory> to, range_of_caller(outputs, output_count, "outputs"));
    if (from.size() != session->session.inputs().size() || to.size() != session->session.outputs().size())
      return fail({.where = "carina_session_run",
                   .what = "wrong number of inputs or outputs",
                   .expected = std::to_string(session->session.inputs().size()) + " and " +
                               std::to_string(session->session.outputs().size()),
                   .got = std::to_string(from.size()) + " and " + std::to_string(to.size()),
                   .fault = Fault::kUsage});
    return run_session(session->session, from, to);
  });
}

carina_fault carina_session_reset(carina_session* session, carina_error** error) {
  return finish(error, [&]() -> Result<void> {
    if (session == nullptr) return missing("session");
    return session->session.reset();
  });
}
}
