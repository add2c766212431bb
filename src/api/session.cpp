#include "carina/session.h"

#include <algorithm>
#include <mutex>

#include "api/call_internal.h"
#include "api/check_options_internal.h"
#include "api/stage_options_internal.h"
#include "base/io/file.h"
#include "execute/program_session.h"

// carina::Session: a program that is loaded once and runs many times.
namespace carina {

using api::aligned;
using api::Call;

struct Session::Content {
  Content(Buffer program, SessionOptions wanted, Log sink)
      : pte(std::move(program)), options(std::move(wanted)), log(std::move(sink)), call(log) {}

  Result<void> load();

  const Buffer pte;
  const SessionOptions options;
  const Log log;
  std::mutex mutex;
  Call call;
  std::unique_ptr<execute::ProgramSession> loaded;
  std::string method;
  std::vector<std::string> methods;
  std::vector<InputType> inputs;
  std::vector<InputType> outputs;
};

namespace {

std::unexpected<Diagnostics> moved_from() {
  return fail({.where = "Session", .what = "the session is empty: it was moved from", .fault = Fault::kUsage});
}

execute::RunOptions wanted_of(const SessionOptions& options) {
  return api::run_options({.timed = options.timed,
                           .memories = options.memories,
                           .threads = options.threads,
                           .method = options.method,
                           .data = options.data});
}

Diagnostics wrong(const SessionOptions& options) {
  Diagnostics all;
  api::check_threads(options.threads, all);
  api::check_target(options.memories, all);
  return all;
}

// The tensors of a sample, as views of the caller's bytes.
Result<Sample> sample_of(std::span<const std::span<const std::byte>> bytes, std::span<const InputType> types) {
  if (bytes.size() != types.size())
    return fail({.where = "inputs",
                 .what = "wrong number of inputs",
                 .expected = std::to_string(types.size()),
                 .got = std::to_string(bytes.size()),
                 .fault = Fault::kUsage});
  Sample sample;
  for (size_t i = 0; i < bytes.size(); ++i)
    sample.push_back({.dtype = types[i].dtype, .shape = types[i].shape, .data = Buffer(nullptr, bytes[i])});
  return sample;
}

}  // namespace

Result<void> Session::Content::load() {
  return call.run({}, wrong(options), [&](const Log& to) -> Result<void> {
    CARINA_TRY(loaded, execute::ProgramSession::load(pte, "program", wanted_of(options), to));
    method = loaded->method();
    methods = loaded->methods();
    inputs = loaded->inputs();
    outputs = loaded->outputs();
    return {};
  });
}

Session::Session(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::load(const Buffer& pte, const SessionOptions& options, const Log& log) {
  return guarded([&]() -> Result<Session> {
    auto content = std::make_unique<Content>(aligned(pte), options, log);
    CARINA_CHECKED(content->load());
    return Session(std::move(content));
  });
}

Result<Session> Session::load_file(const std::string& path, const SessionOptions& options, const Log& log) {
  return guarded([&]() -> Result<Session> {
    CARINA_TRY(const Buffer file, map_file(path));
    return load(file, options, log);
  });
}

Result<Session> Session::load_in_place(std::span<const std::byte> pte, const SessionOptions& options, const Log& log) {
  return load(Buffer(nullptr, pte), options, log);
}

Result<Session> Session::clone() const {
  if (content_ == nullptr) return moved_from();
  return load(content_->pte, content_->options, content_->log);
}

Result<void> Session::reset() {
  if (content_ == nullptr) return moved_from();
  return guarded([&]() -> Result<void> {
    const std::lock_guard lock(content_->mutex);
    return content_->load();
  });
}

const std::string& Session::method() const noexcept {
  static const std::string none;
  return content_ == nullptr ? none : content_->method;
}

std::span<const std::string> Session::methods() const noexcept {
  return content_ == nullptr ? std::span<const std::string>() : content_->methods;
}

std::span<const InputType> Session::inputs() const noexcept {
  return content_ == nullptr ? std::span<const InputType>() : content_->inputs;
}

std::span<const InputType> Session::outputs() const noexcept {
  return content_ == nullptr ? std::span<const InputType>() : content_->outputs;
}

Result<std::vector<NamedTensor>> Session::run(const Sample& inputs, std::stop_token stop) {
  if (content_ == nullptr) return moved_from();
  return guarded([&]() -> Result<std::vector<NamedTensor>> {
    const std::lock_guard lock(content_->mutex);
    return content_->call.run(stop, {}, [&](const Log&) {
      content_->loaded->forget_runs();
      return content_->loaded->run(inputs);
    });
  });
}

Result<void> Session::run_into(std::span<const std::span<const std::byte>> inputs,
                               std::span<const std::span<std::byte>> outputs, std::stop_token stop) {
  if (content_ == nullptr) return moved_from();
  return guarded([&]() -> Result<void> {
    CARINA_TRY(const Sample sample, sample_of(inputs, content_->inputs));
    const auto is_null = [](std::span<std::byte> memory) { return memory.data() == nullptr && !memory.empty(); };
    if (std::ranges::any_of(outputs, is_null))
      return fail({.where = "outputs", .what = "the memory of an output is a null pointer", .fault = Fault::kUsage});
    const std::lock_guard lock(content_->mutex);
    return content_->call.run(stop, {}, [&](const Log&) {
      content_->loaded->forget_runs();
      return content_->loaded->run_into(sample, outputs);
    });
  });
}

Result<SessionReport> Session::report() const {
  if (content_ == nullptr) return moved_from();
  return guarded([&]() -> Result<SessionReport> {
    const std::lock_guard lock(content_->mutex);
    execute::RunOutcome figures = content_->loaded->figures();
    return SessionReport{.memory = std::move(figures.memory),
                         .cpu_kernels = std::move(figures.cpu_kernels),
                         .delegate_calls = figures.delegate_calls,
                         .npu = std::move(figures.npu)};
  });
}

}  // namespace carina
