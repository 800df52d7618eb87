#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "runtime/worker/text/token_rows.h"

namespace expc::text {
namespace {

struct Shape {
  double mean;    // tokens of a row: subsets of 500 rows in the reference study (59,330, 28,683 and 83,544 tokens)
  double prompt;  // share of them that is not learnt
};

Shape shapeOf(Template kind, bool pairs) {
  constexpr Shape kShapes[] = {{59330.0 / 500, 0.0}, {28683.0 / 500, 0.5}, {83544.0 / 500, 0.8}, {83544.0 / 500, 0.8}};
  return pairs && kind == Template::Instruct ? Shape{kShapes[0].mean, 0.5} : kShapes[static_cast<size_t>(kind)];
}

/// Where drawn lengths lie, as parts of the mean: most in a body, one in fifty far above it, since memory is taken by
/// the longest rows of a set. How long those were is not published.
constexpr double kShortest = 0.5, kBody = 1.4, kLongest = 5.5, kLongShare = 0.02;

double partOfMean(double share) {
  return share < 1 - kLongShare ? kShortest + (kBody - kShortest) * share / (1 - kLongShare)
                                : kLongest - (kLongest - kBody) * (1 - share) / kLongShare;
}

/// The numbers of one row. Not the library's distributions, whose numbers differ between standard libraries.
class Draw {
 public:
  Draw(uint64_t seed, int64_t number) {
    std::seed_seq both{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(number),
                       static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32)};
    random_.seed(both);
  }
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  Token token(Token below) { return static_cast<Token>(random_() % static_cast<uint64_t>(below)); }

 private:
  std::mt19937_64 random_;
};

size_t rounded(double tokens) { return static_cast<size_t>(std::lround(tokens)); }

/// A text of which the first `prompt` tokens are not learnt.
Sample finished(std::vector<Token> tokens, size_t prompt, size_t most) {
  Sample sample;
  sample.tokens = std::move(tokens);
  if (most > 0 && sample.size() > most) {
    sample.cut = true;
    sample.tokens.resize(most);
  }
  sample.labels = sample.tokens;
  std::fill_n(sample.labels.begin(), std::min(std::max<size_t>(prompt, 1), sample.size()), kMasked);
  sample.labels.back() = kMasked;
  return sample;
}

}  // namespace

TokenRow SyntheticRows::row(int64_t number) const {
  assert(vocabulary > 0 && (most > 0 || !longest));
  const Shape shape = shapeOf(kind, pairs);
  Draw draw(seed, number);
  const auto length = [&] {
    const double drawn = shape.mean * partOfMean(draw.share());
    return longest ? most : std::max<size_t>(4, rounded(drawn));
  };
  std::vector<Token> tokens(length());
  std::generate(tokens.begin(), tokens.end(), [&] { return draw.token(vocabulary); });
  const size_t prompt = rounded(shape.prompt * static_cast<double>(tokens.size()));
  TokenRow row;
  if (pairs) {
    std::vector<Token> other(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt));
    // The other answer is as long as one of a row of its own.
    const size_t answer = std::max<size_t>(2, rounded((1 - shape.prompt) * static_cast<double>(length())));
    std::generate_n(std::back_inserter(other), answer, [&] { return draw.token(vocabulary); });
    row.rejected = finished(std::move(other), prompt, most);
  }
  row.chosen = finished(std::move(tokens), prompt, most);
  return row;
}

bool SyntheticRows::areShort() const {
  // Prompt and answer of a pair are parts of two lengths, each rounded.
  const size_t most_drawn = rounded(shapeOf(kind, pairs).mean * kLongest) + 1;
  return !longest && (most == 0 || most_drawn <= most);
}

}  // namespace expc::text
