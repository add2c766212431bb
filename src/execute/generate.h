// Declares the generation of tokens by a language model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "execute/run_program.h"
#include "results/run_report.h"

namespace carina::execute {

struct GenerateOptions {
  int64_t count = 0;                 // of tokens to generate; 0: no generation
  std::vector<int64_t> prompt = {};  // token ids, at least one
  int64_t top_k = 1;                 // the most likely tokens to draw from; 1: always the most likely one
  uint64_t seed = 0;                 // of the draws
};

// Generates tokens with a program that keeps a cache of keys and values. A method takes token ids (integers [1,n]), and
// their positions as a second input, if it has one; its first output are logits, the last row of which is for the next
// token. The method with n = 1 generates; if there is one with more, it reads as much of the prompt as its n divides.
// The output is one tensor "tokens" (int64): the generated ones. Errors: no such methods; an empty prompt; a token id
// that the model does not have; those of ProgramSession.
//   Example: prompt 1, 9, 4 and methods prefill (n = 2) and decode: prefill reads 1 and 9, decode 4 and what follows
Result<results::RunReport> generate(const Buffer& program, const std::string& where, const GenerateOptions& what,
                                    const std::string& folder, const RunOptions& options, const Log& log);

}  // namespace carina::execute
