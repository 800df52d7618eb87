#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <random>

#include "runtime/worker/text/dataset.h"

namespace expc::text {
namespace {

struct Shape {
  double mean;    // tokens of a row: subsets of 500 rows in the reference study (59,330, 28,683 and 83,544 tokens)
  double prompt;  // share of them that is not learnt
};

Shape shapeOf(Template kind, bool pairs) {
  switch (kind) {
    case Template::Instruct:
      return {59330.0 / 500, pairs ? 0.5 : 0.0};
    case Template::Grammar:
      return {28683.0 / 500, 0.5};
    case Template::Summarize:
    case Template::Plain:
      return {83544.0 / 500, 0.8};
  }
  return {};
}

}  // namespace

Samples syntheticSamples(Template kind, int64_t count, bool pairs, Token rows, uint64_t seed, size_t most,
                         bool longest) {
  assert(rows > 0 && (most > 0 || !longest));
  const Shape shape = shapeOf(kind, pairs);
  std::mt19937_64 random(seed);
  // Not the library's distributions, whose numbers differ between standard libraries.
  const auto share = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto token = [&] { return static_cast<Token>(random() % static_cast<uint64_t>(rows)); };
  const auto length = [&] {
    if (longest) return most;
    return std::max<size_t>(4, static_cast<size_t>(std::lround(shape.mean * (0.5 + share()))));
  };
  Samples samples;
  const auto finish = [&](Sample sample, size_t prompt, std::vector<Sample>& to) {
    if (most > 0 && sample.size() > most) {
      sample.cut = true;
      sample.tokens.resize(most);
    }
    sample.labels = sample.tokens;
    std::fill_n(sample.labels.begin(), std::min(std::max<size_t>(prompt, 1), sample.size()), kMasked);
    sample.labels.back() = kMasked;
    to.push_back(std::move(sample));
  };
  for (int64_t i = 0; i < count; ++i) {
    Sample sample;
    sample.tokens.resize(length());
    std::generate(sample.tokens.begin(), sample.tokens.end(), token);
    const auto prompt = static_cast<size_t>(std::lround(shape.prompt * static_cast<double>(sample.size())));
    if (pairs) {
      Sample other;
      other.tokens.assign(sample.tokens.begin(), sample.tokens.begin() + static_cast<std::ptrdiff_t>(prompt));
      // The other answer is as long as one of a row of its own.
      const auto answer =
          std::max<size_t>(2, static_cast<size_t>(std::lround((1 - shape.prompt) * static_cast<double>(length()))));
      std::generate_n(std::back_inserter(other.tokens), answer, token);
      finish(std::move(other), prompt, samples.rejected);
    }
    finish(std::move(sample), prompt, samples.chosen);
  }
  return samples;
}

}  // namespace expc::text
