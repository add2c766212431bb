#include "execute/method_sessions.h"

#include <fmt/format.h>

#include <utility>

namespace carina::execute {

Result<MethodSessions> MethodSessions::load(const Buffer& program, const std::string& where, const RunOptions& options,
                                            const Log& log) {
  MethodSessions methods;
  methods.where_ = where;
  RunOptions shared = options;
  shared.shared = std::make_shared<evaluate::SharedMemory>();
  CARINA_TRY(std::unique_ptr<ProgramSession> first, ProgramSession::load(program, where, shared, log));
  for (const std::string& name : first->methods()) {
    if (name == first->method()) continue;
    shared.method = name;
    CARINA_TRY(methods.sessions_[name], ProgramSession::load(program, where, shared, log));
  }
  const std::string name = first->method();
  methods.sessions_.emplace(name, std::move(first));
  return methods;
}

Result<ProgramSession*> MethodSessions::find(const std::string& method) {
  if (const auto found = sessions_.find(method); found != sessions_.end()) return found->second.get();
  std::string names;
  for (const auto& [name, session] : sessions_) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return fail({.where = where_, .what = "the program has no method of this name", .expected = names, .got = method});
}

std::map<std::string, std::vector<datasets::NamedTensor>> MethodSessions::states() const {
  std::map<std::string, std::vector<datasets::NamedTensor>> states;
  std::map<std::string, const void*> place_of;
  for (const auto& [method, session] : sessions_) {
    std::vector<datasets::NamedTensor>& own = states[method];
    own = session->state();
    const std::vector<const void*> places = session->state_places();
    for (size_t i = 0; i < own.size(); ++i) {
      if (place_of.emplace(own[i].name, places[i]).first->second == places[i]) continue;
      own[i].name = fmt::format("{}.{}", method, own[i].name);
    }
  }
  return states;
}

void MethodSessions::reset_state() {
  for (const auto& [name, session] : sessions_) session->reset_state();
}

}  // namespace carina::execute
