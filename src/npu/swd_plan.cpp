#include <algorithm>
#include <utility>

#include "npu/swd_plan_internal.h"

namespace carina::npu::swd {

namespace {

// A section under construction.
struct Candidate {
  size_t begin = 0;
  size_t end = 0;
  Statistics statistics;
  Choice choice;
  size_t alone_before = 0;  // the end of the neighbour that it was not joined with
};

}  // namespace

// Neighbours are joined in rounds, pair by pair, for as long as that saves bits.
std::vector<Section> make_sections(std::span<const int16_t> weights) {
  const size_t block = std::clamp<size_t>(weights.size() / 64, 512, 4096);
  std::vector<Candidate> sections;
  for (size_t begin = 0; begin < weights.size(); begin += block) {
    const size_t end = std::min(begin + block, weights.size());
    Candidate section{
        .begin = begin, .end = end, .statistics = statistics_of(weights.subspan(begin, end - begin)), .choice = {}};
    section.choice = choose(section.statistics);
    sections.push_back(section);
  }
  for (bool joined = true; joined && sections.size() > 1;) {
    joined = false;
    std::vector<Candidate> next;
    for (size_t i = 0; i < sections.size(); ++i) {
      if (i + 1 == sections.size() || sections[i].alone_before == sections[i + 1].end) {
        next.push_back(sections[i]);
        continue;
      }
      Candidate both{
          .begin = sections[i].begin, .end = sections[i + 1].end, .statistics = sections[i].statistics, .choice = {}};
      both.statistics += sections[i + 1].statistics;
      const uint64_t apart = sections[i].choice.bits + sections[i + 1].choice.bits;
      both.choice = choose(both.statistics, apart + 1);
      if (both.choice.bits <= apart) {
        next.push_back(both);
        ++i;
        joined = true;
      } else {
        next.push_back(sections[i]);
        next.back().alone_before = sections[i + 1].end;
      }
    }
    sections = std::move(next);
  }
  std::vector<Section> out;
  for (const Candidate& section : sections) {
    out.push_back({.begin = section.begin, .end = section.end, .choice = section.choice});
  }
  return out;
}

}  // namespace carina::npu::swd
