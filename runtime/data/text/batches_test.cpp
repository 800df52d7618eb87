// Padding and packing against torchtune's (golden/text/collate.json).

#include "runtime/data/text/batches.h"

#include <cstddef>
#include <numeric>

#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

using json::Array;
using json::Object;

std::vector<int64_t> flat(const Array& rows) {
  std::vector<int64_t> all;
  for (const auto& row : rows)
    for (const auto& number : *row.getAsArray()) all.push_back(*number.getAsInteger());
  return all;
}

std::vector<const Sample*> pointers(const std::vector<Sample>& samples, size_t begin, size_t end) {
  std::vector<const Sample*> result;
  for (size_t i = begin; i < end; ++i) result.push_back(&samples[i]);
  return result;
}

TEST_CASE("rows are padded to the longest, as torchtune pads them") {
  const auto json = goldenJson("collate.json");
  const Object& fixture = *json.getAsObject()->getObject("sft");
  std::vector<Sample> samples;
  int64_t real = 0;
  for (const auto& value : *fixture.getArray("inputs")) {
    const Object& input = *value.getAsObject();
    samples.push_back({tokensOf(*input.get("tokens")), tokensOf(*input.get("labels"))});
    real += int64_t(samples.back().size());
  }
  const TokenBatch batch =
      collate(pointers(samples, 0, samples.size()), static_cast<Token>(*fixture.getInteger("pad_id")));
  CHECK(batch.tokens == flat(*fixture.getArray("tokens")));
  CHECK(batch.labels == flat(*fixture.getArray("labels")));
  CHECK(batch.real == real);
  CHECK(batch.padding() == batch.rows * batch.columns - real);
}

TEST_CASE("weights stand beside labels, and samples without any count 1") {
  const Sample plain{{1, 2, 3}, {1, 2, 3}}, half{{4, 5}, {4, 5}, false, {0.5, 0.5}};
  CHECK(collate({&plain}, 0).weights.empty());
  CHECK(collate({&half, &plain}, 0).weights == std::vector<double>{0.5, 0.5, 1, 1, 1, 1});
  const Pack weighted = packOf({&plain, &half}, 6), other = packOf({&plain}, 6);
  CHECK(weighted.weights == std::vector<double>{1, 1, 1, 0.5, 0.5, 1});
  CHECK(other.weights.empty());
  CHECK(collatePacks({&other, &weighted}).weights == std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 1});
}

TEST_CASE("pairs are padded together, chosen answers first") {
  const auto json = goldenJson("collate.json");
  const Object& fixture = *json.getAsObject()->getObject("dpo");
  const auto pad = static_cast<Token>(*fixture.getInteger("pad_id"));
  const Array& tokens = *fixture.getArray("input_ids");
  std::vector<Sample> samples;
  for (size_t row = 0; row < tokens.size(); ++row) {
    Sample sample{tokensOf(tokens[row]), tokensOf((*fixture.getArray("labels"))[row])};
    while (sample.tokens.back() == pad) sample.tokens.pop_back(), sample.labels.pop_back();
    samples.push_back(std::move(sample));
  }
  const TokenBatch batch = collatePairs(pointers(samples, 0, 2), pointers(samples, 2, 4), pad);
  CHECK(batch.tokens == flat(tokens));
  CHECK(batch.labels == flat(*fixture.getArray("labels")));
  CHECK(batch.learnt == 7);
}

std::vector<Pack> packsOf(const std::vector<Sample>& samples, size_t size) {
  std::vector<int64_t> lengths;
  for (const Sample& sample : samples) lengths.push_back(int64_t(sample.size()));
  const auto bounds = packBounds(lengths, int64_t(size));
  std::vector<Pack> packs;
  for (size_t i = 0; i + 1 < bounds.size(); ++i)
    packs.push_back(packOf(pointers(samples, bounds[i], bounds[i + 1]), size));
  return packs;
}

TEST_CASE("packs are torchtune's") {
  const auto json = goldenJson("collate.json");
  const Object& fixture = *json.getAsObject()->getObject("packed");
  const auto size = size_t(*fixture.getInteger("max_seq_len"));
  std::vector<Sample> samples;
  for (const auto& length : *fixture.getArray("sample_lens")) {
    Sample sample;
    for (int64_t j = 0; j < *length.getAsInteger(); ++j)
      sample.tokens.push_back(static_cast<Token>(10 * int64_t(samples.size() + 1) + j));
    sample.labels = sample.tokens;
    sample.labels[0] = kMasked;
    samples.push_back(std::move(sample));
  }
  const auto packs = packsOf(samples, size);
  const Array& wanted = *fixture.getObject("packs")->getArray("split_across_pack=False");
  REQUIRE(packs.size() == wanted.size());
  std::vector<const Pack*> all;
  int64_t real = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Object& pack = *wanted[i].getAsObject();
    CHECK(packs[i].tokens == tokensOf(*pack.get("tokens")));
    CHECK(packs[i].labels == tokensOf(*pack.get("labels")));
    CHECK(packs[i].positions == tokensOf(*pack.get("input_pos")));
    CHECK(packs[i].lengths == tokensOf(*pack.get("seq_lens")));
    all.push_back(&packs[i]);
    real += packs[i].real;
  }
  CHECK(real == 3 + 4 + 2 + 6 + 1 + 5 + 3);
  const TokenBatch batch = collatePacks(all);
  CHECK(batch.rows == int64_t(wanted.size()));
  CHECK(batch.columns == int64_t(size));
  CHECK(batch.padding() == batch.rows * batch.columns - real);
  CHECK(batch.positions.size() == batch.tokens.size());
  CHECK(batch.lengths.size() == wanted.size());
}

TEST_CASE("a pack begins where a sample does not fit into the one before") {
  for (const int64_t size : {7, 20, 1000}) {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < 40; ++i) lengths.push_back(1 + i * 5 % 7);
    const auto bounds = packBounds(lengths, size);
    REQUIRE(bounds.front() == 0);
    REQUIRE(bounds.back() == lengths.size());
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      const int64_t held = std::accumulate(lengths.begin() + ptrdiff_t(bounds[i]),
                                           lengths.begin() + ptrdiff_t(bounds[i + 1]), int64_t{0});
      CHECK(held <= size);
      if (bounds[i + 1] < lengths.size()) CHECK(held + lengths[bounds[i + 1]] > size);
    }
  }
  CHECK(packBounds({}, 5) == std::vector<size_t>{0});
  CHECK(collate({}, 0).tokens.empty());
}

}  // namespace
}  // namespace expc::text
