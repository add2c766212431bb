#include "firmware/runner/options.h"

#include <algorithm>

#include "firmware/board/console.h"

namespace carina::firmware {

namespace {

std::array<char, 512> words;  // the arguments, each terminated by NUL

bool reject(std::string_view why, std::string_view what) {
  error()
      .text("arguments: ")
      .text(why)
      .text(": ")
      .text(what)
      .text(" (-i FILE ... -o PREFIX -n COUNT -s SAMPLES -r SAMPLES -b PREFIX -a PREFIX)");
  return false;
}

bool read_count(std::string_view text, uint32_t& count) {
  count = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || count > 100'000) return false;
    count = count * 10 + static_cast<uint32_t>(digit - '0');
  }
  return count > 0;
}

bool read_option(std::string_view option, const char* value, Options& options) {
  if (option == "-o") {
    options.output = value;
  } else if (option == "-b") {
    options.state_before = value;
  } else if (option == "-a") {
    options.state_after = value;
  } else if (option == "-n") {
    if (!read_count(value, options.inferences)) return reject("not a number of inferences", value);
  } else if (option == "-s") {
    if (!read_count(value, options.samples)) return reject("not a number of samples", value);
  } else if (option == "-r") {
    if (!read_count(value, options.reset_every)) return reject("not a number of samples", value);
  } else if (option == "-i") {
    if (options.input_count == Options::kMaxInputs) return reject("too many inputs", value);
    options.inputs[options.input_count++] = value;
  } else {
    return reject("unknown", option);
  }
  return true;
}

}  // namespace

bool read_options(std::string_view arguments, Options& options) {
  if (arguments.size() >= words.size()) return reject("too long", arguments);
  std::ranges::replace_copy(arguments, words.begin(), ' ', '\0');
  words[arguments.size()] = '\0';
  const char* const end = words.data() + arguments.size();
  for (const char* word = words.data(); word < end;) {
    const std::string_view option(word);
    const char* value = word + option.size() + 1;
    if (option.empty()) {
      ++word;
      continue;
    }
    if (value >= end) return reject("nothing follows", option);
    if (!read_option(option, value, options)) return false;
    word = value + std::string_view(value).size() + 1;
  }
  if (uint64_t{options.inferences} * options.samples > UINT32_MAX)
    return reject("the inferences of all samples are", "more than 4294967295");
  return true;
}

}  // namespace carina::firmware
