#include "runtime/worker/workload/llm/rows.h"

#include <doctest/doctest.h>

using namespace expc::workload::llm;

namespace {

RowSets open(const Parameters& parameters, bool hold_out, uint64_t seed = 7) {
  auto rows = openRows(parameters, "/", /*vocabulary=*/1000, /*model_folder=*/"", seed, hold_out);
  REQUIRE(static_cast<bool>(rows));
  return std::move(*rows);
}

Parameters made(int64_t count, expc::text::Template kind = expc::text::Template::Grammar) {
  Parameters parameters;
  parameters.data.synthetic = count;
  parameters.kind = kind;
  return parameters;
}

int64_t learntOf(const Items& items) {
  int64_t sum = 0;
  for (int64_t i = 0; i < items.count(); ++i) sum += items.learnt(i);
  return sum;
}

}  // namespace

TEST_CASE("a tenth of the rows is held out, at least one and at most 200") {
  CHECK(heldOutOf(2) == 1);
  CHECK(heldOutOf(500) == 50);
  CHECK(heldOutOf(50000) == kMostHeldOut);
  const RowSets all = open(made(40), false), sets = open(made(40), true), other = open(made(40), true, 8);
  CHECK(all.train.count() == 40);
  CHECK(all.held_out.count() == 0);
  CHECK(sets.train.count() == 36);
  CHECK(sets.held_out.count() == 4);
  CHECK(learntOf(sets.train) + learntOf(sets.held_out) == learntOf(all.train));
  // Which rows these are is the seed's choice; so are synthetic rows themselves.
  CHECK(learntOf(other.held_out) != learntOf(sets.held_out));
}

TEST_CASE("what a batch holds is what its items say") {
  for (const bool pairs : {false, true}) {
    Parameters parameters = made(6);
    parameters.method = pairs ? Method::Dpo : Method::Lora;
    const RowSets sets = open(parameters, false);
    CHECK((sets.train.kind() == (pairs ? Items::Kind::Pairs : Items::Kind::Rows)));
    const auto batch = sets.train.batch({1, 4, 2});
    CHECK(batch.rows == (pairs ? 6 : 3));
    CHECK(batch.learnt == sets.train.learnt(1) + sets.train.learnt(4) + sets.train.learnt(2));
    CHECK(static_cast<double>(batch.real) == sets.train.tokens(1) + sets.train.tokens(4) + sets.train.tokens(2));
  }
}

TEST_CASE("packs learn what their rows learn, and rows in them see themselves only") {
  Parameters parameters = made(30);
  const RowSets rows = open(parameters, false);
  parameters.packing = true;
  parameters.max_length = 256;
  const RowSets packs = open(parameters, false);
  CHECK((packs.train.kind() == Items::Kind::Packs));
  CHECK(packs.train.count() < 30);
  CHECK(learntOf(packs.train) == learntOf(rows.train));
  double tokens = 0, seen = 0, seen_in_rows = 0;
  for (int64_t i = 0; i < packs.train.count(); ++i) {
    tokens += packs.train.tokens(i);
    seen += packs.train.seen(i);
    CHECK(packs.train.batch({i}).columns == 256);
  }
  for (int64_t i = 0; i < rows.train.count(); ++i) seen_in_rows += rows.train.seen(i);
  CHECK(seen == seen_in_rows);
  CHECK(tokens < 256.0 * static_cast<double>(packs.train.count()));
}

TEST_CASE("rows of which nothing is left to learn are left out, or the reason why there is none") {
  Parameters parameters = made(30, expc::text::Template::Summarize);  // of about 167 tokens the last fifth is learnt
  parameters.max_length = 120;
  const RowSets sets = open(parameters, false);
  CHECK(sets.train.count() < 30);
  CHECK(sets.train.count() > 0);
  for (int64_t i = 0; i < sets.train.count(); ++i) CHECK(sets.train.learnt(i) > 0);
  REQUIRE(sets.notes.size() == 2);
  CHECK(sets.notes[1].find("rows are left out") != std::string::npos);
  parameters.max_length = 16;
  auto none = openRows(parameters, "/", 1000, "", 7, false);
  REQUIRE_FALSE(static_cast<bool>(none));
  CHECK(llvm::toString(none.takeError()).find("raise max_length") != std::string::npos);
}
