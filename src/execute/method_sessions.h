// Declares the methods of one program, loaded together.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "execute/program_session.h"
#include "execute/run_program.h"

namespace carina::execute {

// The methods of one program, with the state that they share: what one writes, the next one reads.
class MethodSessions {
 public:
  // Loads all methods of a program. `log` must outlive them. Errors: those of ProgramSession::load().
  static Result<MethodSessions> load(const Buffer& program, const std::string& where, const RunOptions& options,
                                     const Log& log);

  // Errors: the program has no method of this name.
  Result<ProgramSession*> find(const std::string& method);
  // Gives the state of all methods its initial values.
  void reset_state();
  // The state of each method, by names that are distinct in the program: a state that methods share has one name. Of
  // several states of one name, those after the first have the name of their method in front: "decode.cache".
  [[nodiscard]] std::map<std::string, std::vector<datasets::NamedTensor>> states() const;
  [[nodiscard]] const std::map<std::string, std::unique_ptr<ProgramSession>>& all() const { return sessions_; }

 private:
  std::string where_;
  std::map<std::string, std::unique_ptr<ProgramSession>> sessions_;
};

}  // namespace carina::execute
