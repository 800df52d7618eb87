// Full sharding over 2 and 4 ranks against the same training on one, for every method. The parent runs no torch: ranks
// are forked from it.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"
#include "tests/parity/llama_fixture.h"
#include "tests/support/comm/ranks.h"

namespace expc::parity {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kRows = 8, kColumns = 12, kSteps = 3, kPasses = 2;

/// How a model is tuned.
struct Method {
  std::string name;
  llama::DecoderOptions options;
  bool tied = false, dpo = false;
  /// Every rank sees the same rows, so that sums over ranks are exact: a rounding of QAT decided otherwise changes all
  /// that follows.
  bool same_rows = false;
};

llama::Config smallConfig(bool tied) {
  llama::Config c;
  c.vocabulary = 37, c.width = 128, c.layers = 3, c.heads = 4, c.kv_heads = 4, c.head_width = 32, c.mlp_width = 128;
  c.max_positions = 32;
  c.tied = tied;
  return c;
}

std::vector<Method> methods(at::ScalarType dtype) {
  llama::DecoderOptions full, lora;
  full.dtype = lora.dtype = dtype;
  lora.lora = llama::LoraOptions{4, 8, 0, llama::targetRoles("qvo_mlp_head").value()};
  auto recomputing = full, frozen = lora, packed = lora, recomputed = lora, rounded = full, copies = full;
  recomputing.activation_checkpointing = recomputed.activation_checkpointing = true;
  frozen.lora->targets = llama::targetRoles("qv").value();
  packed.nf4 = true;
  rounded.qat = llama::QatOptions{32, llama::QuantCopies::Recomputed};
  rounded.activation_checkpointing = true;
  copies.qat = llama::QatOptions{32, llama::QuantCopies::Kept};
  return {{"full", full},
          {"full, tied", full, /*tied=*/true},
          {"full, checkpointed", recomputing},
          {"lora", lora},
          {"lora, on q and v", frozen, /*tied=*/true},
          {"lora, checkpointed", recomputed},
          {"qlora", packed},
          {"dpo on lora", lora, false, /*dpo=*/true},
          {"dpo on all weights", full, false, /*dpo=*/true},
          {"qat", rounded, false, false, /*same_rows=*/true},
          {"qat, copies kept", copies, false, false, /*same_rows=*/true}};
}

/// Rows `first`, `first + 1`, … of a pass: tokens and labels that depend on the step, the pass and the row alone.
struct Rows {
  llama::Sequences input;
  llama::Labelled labelled;
};
Rows rowsOf(int64_t step, int64_t pass, const std::vector<int64_t>& numbers) {
  auto tokens = at::empty({int64_t(numbers.size()), kColumns}, at::kLong), labels = at::empty_like(tokens);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t row = numbers[i], at = int64_t(i);
    const auto column = at::arange(kColumns, at::kLong);
    tokens[at].copy_((column * (3 + row) + row * 5 + pass * 7 + step * 11).remainder(37));
    labels[at].copy_(tokens[at]);
    labels[at].narrow(0, 0, 2 + row % 5).fill_(llama::kIgnored);  // so that ranks learn from different numbers
  }
  return {{tokens, {}, {}}, llama::labelledPositions(labels)};
}

/// The rows of one of `ranks`. Pairs of dpo: the chosen answers, then the rejected ones.
std::vector<int64_t> share(const Method& method, unsigned rank, unsigned ranks) {
  std::vector<int64_t> all;
  const int64_t half = kRows / 2;
  if (method.same_rows) rank = 0, ranks = 1;
  if (!method.dpo) {
    for (int64_t row = kRows * rank / ranks; row < kRows * (rank + 1) / ranks; ++row) all.push_back(row);
    return all;
  }
  for (const int64_t side : {int64_t{0}, half})
    for (int64_t row = half * rank / ranks; row < half * (rank + 1) / ranks; ++row) all.push_back(side + row);
  return all;
}

/// What a training did.
struct Trained {
  std::unique_ptr<llama::Decoder> decoder;
  std::vector<double> losses, norms;
};

Trained train(const Method& method, comm::Communicator* ranks) {
  llama::DecoderOptions options = method.options;
  if (ranks != nullptr) options.sharding = llama::Sharding{ranks};
  Trained result;
  result.decoder =
      std::make_unique<llama::Decoder>(smallConfig(method.tied), options, 3, llama::randomWeights(5, options.dtype));
  llama::Decoder& decoder = *result.decoder;
  // Adam's division makes noise of what is nothing but noise; its epsilon is above that.
  const optimizer::AdamOptions adam{1e-2, 0.9, 0.999, 1e-4, 0.01, true};
  std::optional<llama::Together> together;
  if (ranks != nullptr) together = llama::Together{ranks, decoder.trainsParts()};
  llama::Steps steps(optimizer::makeAdam(decoder.trainableTensors(), adam), decoder.trainableTensors(),
                     optimizer::WarmupSchedule{1e-2, 0, 6}, method.same_rows ? 0 : 0.1, together);
  const auto mine = share(method, ranks == nullptr ? 0 : ranks->rank(), ranks == nullptr ? 1 : ranks->worldSize());
  llama::ReferenceLogProbs references(kSteps * kPasses * kRows, ranks);
  const auto reference = [&](int64_t step, int64_t pass, const Rows& rows) {
    std::vector<int64_t> ids;
    for (const int64_t row : mine) ids.push_back((step * kPasses + pass) * kRows + row);
    return references.of(ids, [&] { return decoder.referenceLogProbs(rows.input, rows.labelled); });
  };
  if (method.dpo)
    for (int64_t i = 0; i < kSteps * kPasses; ++i)
      reference(i / kPasses, i % kPasses, rowsOf(i / kPasses, i % kPasses, mine));
  const auto all = [&](double own) { return ranks == nullptr ? own : ranks->allReduce(own, comm::Reduction::Sum); };
  for (int64_t step = 0; step < kSteps; ++step) {
    double weight = 0;  // pairs, or tokens that are learnt
    for (int64_t pass = 0; pass < kPasses; ++pass)
      weight += method.dpo ? double(mine.size()) / 2 : double(rowsOf(step, pass, mine).labelled.count());
    weight = all(weight);
    for (int64_t pass = 0; pass < kPasses; ++pass) {
      const Rows rows = rowsOf(step, pass, mine);
      if (method.dpo) {
        const auto policy = decoder.rowLogProbs(rows.input, rows.labelled);
        steps.add(llama::dpo(policy, reference(step, pass, rows), {.beta = 0.1}).losses.sum() / weight);
      } else {
        steps.add(decoder.lossSum(rows.input, rows.labelled) / weight);
      }
    }
    const auto done = steps.finish();
    result.losses.push_back(all(done.loss.item<double>()));
    result.norms.push_back(done.gradient_norm.defined() ? done.gradient_norm.item<double>() : 0);
  }
  return result;
}

/// Notes what is further apart than it may be.
class Findings {
 public:
  explicit Findings(std::string place) : place_(std::move(place)) {}
  void near(const std::string& what, double a, double b, double tolerance) {
    if (!(std::abs(a - b) <= tolerance)) text_ += fmt::format("{}: {} {:.3g} apart; ", place_, what, std::abs(a - b));
  }
  void near(const std::string& what, const at::Tensor& a, const at::Tensor& b, double tolerance) {
    near(what, 0, (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>(), tolerance);
  }
  void expect(bool holds, const std::string& what) {
    if (!holds) text_ += fmt::format("{}: {}; ", place_, what);
  }
  const std::string& text() const { return text_; }

 private:
  std::string place_, text_;
};

/// Every number of a sharded training beside that of one rank.
std::string compared(const Method& method, comm::Communicator& ranks) {
  at::manual_seed(1);
  const Trained alone = train(method, nullptr), sharded = train(method, &ranks);
  Findings findings(fmt::format("{} {} on {}", method.name, c10::toString(method.options.dtype), ranks.worldSize()));
  const double tolerance = method.same_rows ? 0 : method.options.dtype == at::kDouble ? 1e-11 : 1e-5;
  for (size_t i = 0; i < alone.losses.size(); ++i) {
    findings.near("a loss", alone.losses[i], sharded.losses[i], std::max(tolerance, 1e-12) * 10);
    findings.near("a norm", alone.norms[i], sharded.norms[i],
                  std::max(tolerance, method.options.dtype == at::kDouble ? 1e-12 : 1e-6) * (1 + alone.norms[i]));
  }
  double moved = 0;
  for (const auto& spec : llama::weightSpecs(alone.decoder->config())) {
    const auto weight = sharded.decoder->mergedWeight(spec), expected = alone.decoder->mergedWeight(spec);
    // NF4 is merged in bf16, where a last bit may round otherwise.
    findings.near(spec.name, expected, weight, method.options.nf4 ? std::max(tolerance, 0x1p-9) : tolerance);
    const auto start = llama::randomWeight(spec, 5, method.options.dtype);
    moved = std::max(moved, (expected.to(start.scalar_type()) - start).abs().max().item<double>());
  }
  findings.expect(moved > 1e-3, "nothing was trained");
  const auto adapters = alone.decoder->adapters(), others = sharded.decoder->adapters();
  for (size_t i = 0; i < adapters.size(); ++i)
    findings.near(adapters[i].name, adapters[i].tensor, others[i].tensor, tolerance);

  // Evaluation, and what a rank holds.
  const Rows rows = rowsOf(9, 0, share(method, 0, 1));
  at::NoGradGuard no_grad;
  findings.near("an evaluated loss", alone.decoder->lossSum(rows.input, rows.labelled),
                sharded.decoder->lossSum(rows.input, rows.labelled), std::max(tolerance, 1e-12) * 1000);
  if (!method.options.lora) {
    int64_t whole = 0, parts = 0;
    for (const auto& tensor : alone.decoder->trainableTensors()) whole += tensor.numel();
    for (const auto& tensor : sharded.decoder->trainableTensors()) parts += tensor.numel();
    findings.expect(parts * ranks.worldSize() >= whole && parts * ranks.worldSize() < whole + 200,
                    fmt::format("{} of {} elements", parts, whole));
  }
  if (method.options.qat) {
    alone.decoder->convertToInt4();
    sharded.decoder->convertToInt4();
    const auto one = stateOf(*alone.decoder), other = stateOf(*sharded.decoder);
    findings.expect(one.size() == other.size(), "another state");
    for (size_t i = 0; i < one.size(); ++i)
      findings.expect(one[i].name == other[i].name && at::equal(one[i].tensor, other[i].tensor), one[i].name);
    findings.expect(at::equal(alone.decoder->hidden(rows.input), sharded.decoder->hidden(rows.input)), "int4");
  }
  return findings.text();
}

void onRanks(unsigned world, const std::function<std::string(comm::Communicator&)>& body) {
  for (const auto& outcome : comm::runRanks(world, 120s, 250s, [&](const comm::Rendezvous& rendezvous) {
         at::set_num_threads(1);
         auto communicator = comm::Communicator::open(rendezvous);
         std::string said = body(*communicator);
         communicator->shutdown();
         return said;
       })) {
    CHECK(outcome.ended);
    CHECK(outcome.said == "");
  }
}

TEST_CASE("sharded trainings are those of one rank") {
  // Every form on two ranks; one of each method on four, and in fp32.
  const auto brief = [](const Method& method) { return method.name.find(',') == std::string::npos; };
  for (const unsigned world : {2u, 4u})
    onRanks(world, [&](comm::Communicator& ranks) {
      std::string said;
      for (const Method& method : methods(at::kDouble))
        if (world == 2 || brief(method)) said += compared(method, ranks);
      for (const Method& method : methods(at::kFloat))
        if (world == 2 && brief(method)) said += compared(method, ranks);
      return said;
    });
}

TEST_CASE("what ranks draw in parts are the weights of one rank, to the bit") {
  for (const unsigned world : {2u, 3u, 4u})
    onRanks(world, [&](comm::Communicator& ranks) {
      std::string said;
      for (const auto dtype : {at::kFloat, at::kBFloat16})
        for (const Method& method : methods(dtype)) {
          if (method.dpo || method.options.qat || method.options.activation_checkpointing) continue;
          llama::DecoderOptions options = method.options;
          const llama::Decoder alone(smallConfig(method.tied), options, 3, llama::randomWeights(5, dtype));
          options.sharding = llama::Sharding{&ranks};
          const llama::Decoder sharded(smallConfig(method.tied), options, 3, llama::randomWeights(5, dtype));
          for (const auto& spec : llama::weightSpecs(alone.config()))
            if (!at::equal(alone.weight(spec), sharded.weight(spec)))
              said += fmt::format("{} {}: {}; ", method.name, c10::toString(dtype), spec.name);
        }
      return said;
    });
}

TEST_CASE("references are computed by all ranks when one has to") {
  onRanks(2, [](comm::Communicator& ranks) -> std::string {
    llama::ReferenceLogProbs references(4, &ranks);
    int computed = 0;
    const auto compute = [&] {
      ++computed;
      return at::ones({1}, at::kDouble);
    };
    references.of({0}, compute);
    references.of({ranks.rank() == 0 ? 0 : 1}, compute);
    references.of({0}, compute);
    return computed == 2 ? "" : fmt::format("computed {} times", computed);
  });
}

TEST_CASE("an overflow on one rank keeps all from stepping") {
  onRanks(2, [](comm::Communicator& ranks) {
    llama::DecoderOptions options;
    options.dtype = at::kHalf;
    options.sharding = llama::Sharding{&ranks};
    llama::Decoder decoder(smallConfig(false), options, 1, llama::randomWeights(5, at::kHalf));
    llama::Steps steps(optimizer::makeAdam(decoder.trainableTensors(), {1e-2}), decoder.trainableTensors(),
                       std::nullopt, 0, llama::Together{&ranks, true});
    const auto specs = llama::weightSpecs(decoder.config());
    const auto before = decoder.weight(specs[1]);
    const Rows rows = rowsOf(0, 0, {0, 1});
    Findings findings("fp16");
    const auto step = [&](bool overflows) {
      steps.add(decoder.lossSum(rows.input, rows.labelled) / rows.labelled.count());
      if (overflows)  // one element of one rank's part
        decoder.trainableTensors()[0].mutable_grad().narrow(0, 0, 1).fill_(std::numeric_limits<double>::infinity());
      steps.finish();
      return !at::equal(before, decoder.weight(specs[1]));
    };
    findings.expect(!step(ranks.rank() == 1), "stepped");
    bool moved = false;  // once the loss is no longer scaled up too far for fp16
    for (int i = 0; i < 20 && !moved; ++i) moved = step(false);
    findings.expect(moved, "stands still");
    return findings.text();
  });
}

TEST_CASE("parts have FSDP's lengths") {
  const auto json = readJson("distributed.json");
  const auto& cases = *json.getAsObject()->getArray("fsdp1_flat_shards");
  REQUIRE(cases.size() > 1);
  for (const auto& value : cases) {
    const auto& object = *value.getAsObject();
    const auto world = unsigned(object.getInteger("world").value());
    const auto& shards = *object.getArray("shards");
    REQUIRE(shards.size() == world);
    for (const auto& shard : shards)
      CHECK(int64_t(shard.getAsArray()->size()) == llama::partLength(object.getInteger("numel").value(), world));
  }
}

}  // namespace
}  // namespace expc::parity
