#include <algorithm>
#include <utility>

#include "npu/weights/swd_plan_internal.h"

namespace carina::npu::swd {

namespace {

// A section under construction.
struct Candidate {
  size_t begin = 0;
  size_t end = 0;
  Statistics statistics;
  Choice choice;
  size_t alone_before = 0;  // the end of the previous section in the last failed join
};

}  // namespace

namespace {

std::vector<Candidate> blocks_of(std::span<const int16_t> weights) {
  const size_t block = std::clamp<size_t>(weights.size() / 64, 512, kMaxCounted);
  std::vector<Candidate> sections;
  sections.reserve(weights.size() / block + 1);
  for (size_t begin = 0; begin < weights.size(); begin += block) {
    const size_t end = std::min(begin + block, weights.size());
    Candidate& section = sections.emplace_back();
    section.begin = begin;
    section.end = end;
    section.statistics = statistics_of(weights.subspan(begin, end - begin));
    section.choice = choose(section.statistics);
  }
  return sections;
}

// Joins `next` to `section` if the joined code is smaller.
bool join(Candidate& section, const Candidate& next) {
  Statistics both = section.statistics;
  both += next.statistics;
  const uint64_t apart = section.choice.bits + next.choice.bits;
  const Choice choice = choose(both, apart + 1);
  if (choice.bits > apart) return false;
  section = {.begin = section.begin, .end = next.end, .statistics = both, .choice = choice};
  return true;
}

// One round over all adjacent pairs. Returns whether any pair was joined.
bool join_pairs(std::vector<Candidate>& sections) {
  size_t kept = 0;
  bool joined = false;
  const auto keep = [&](size_t i) -> Candidate& {
    if (kept != i) sections[kept] = sections[i];
    return sections[kept++];
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    const bool has_next = i + 1 < sections.size();
    const size_t next_end = has_next ? sections[i + 1].end : 0;
    if (has_next && sections[i].alone_before != next_end) {
      if (join(sections[i], sections[i + 1])) {
        keep(i);
        ++i;
        joined = true;
        continue;
      }
      sections[i].alone_before = next_end;
    }
    keep(i);
  }
  sections.resize(kept);
  return joined;
}

}  // namespace

// Joins adjacent sections in rounds until no join saves bits.
Sections make_sections(std::span<const int16_t> weights) {
  std::vector<Candidate> sections = blocks_of(weights);
  while (sections.size() > 1 && join_pairs(sections)) {
  }
  Sections out;
  for (const Candidate& section : sections) {
    out.list.push_back({.begin = section.begin, .end = section.end, .choice = section.choice});
    out.values += section.statistics.values();
  }
  return out;
}

}  // namespace carina::npu::swd
