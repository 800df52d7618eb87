// One rank's fine-tuning, step by step. A step knows its weight before its first pass, so each pass divides its loss
// by that weight and nothing is read from the device. All ranks go through the decoder equally often, since a sharded
// decoder communicates in every pass (docs/layers/worker.md, "Fine-tuning").

#include "runtime/worker/workload/llm/training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/sampler.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/workload/llm/model.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload::llm {
namespace {

using profile::Phase, profile::Range;

/// The mean loss of each row's learnt tokens by their weights, [rows].
at::Tensor rowLosses(llama::Decoder& decoder, const TokenPass& pass) {
  const at::Tensor sums = decoder.rowLogProbs(pass.input, pass.labelled);
  return -sums / pass.labelled.perRow(sums.size(0), sums.scalar_type());
}

}  // namespace

Expected<std::unique_ptr<Training>> Training::create(TrialContext& context, const Parameters& parameters,
                                                     const Settings& settings) {
  // The parameter says how many ranks were planned; a launcher that starts another number would measure something
  // else.
  if (parameters.gpus != context.spec.world_size)
    return failure("parameter gpus is {}, but the launcher started {} ranks", parameters.gpus, context.spec.world_size);
  std::unique_ptr<Training> training(new Training(context, parameters));
  training->begin(parameters.pin_memory);
  TRY(training->build(settings));
  training->connect();
  return training;
}

/// Builds everything in the order of what can fail soonest: the model's fit into memory, the rows, then the weights.
Error Training::build(const Settings& settings) {
  const protocol::TrialSpec& spec = context_.spec;
  auto model = TRY(Model::open(parameters_, spec.root));
  // Ask for memory before anything large exists: on the CPU the system would kill a process, perhaps another one.
  if (context_.device.torchDevice().is_cpu()) requireFit(model.config, parameters_, spec.world_size);
  comm::Communicator& communicator = context_.communicator;
  ranks_ = {communicator.rank(), communicator.worldSize(), [&communicator](std::vector<double> own) {
              return communicator.allReduce(std::move(own), comm::Reduction::Max);
            }};
  rows_ = TRY(openRows(parameters_, spec.root, model.config.vocabulary, model.path, spec.seed,
                       /*hold_out=*/settings.epochs > 0, ranks_));
  llvm::append_range(notes_, rows_->notes);
  // Too few items for one step would make epochs empty.
  order_.emplace(rows_->train.count(), spec.world_size, parameters_.batch, parameters_.accumulation, spec.seed);
  if (order_->stepsPerEpoch() == 0)
    return failure(
        "a step needs {0} {1} (batch {2} x accumulation {3} x {4} ranks), but {6} has only {5}: lower batch, "
        "accumulation "
        "or gpus, or use more rows",
        order_->itemsPerStep(), parameters_.packing ? "packs of rows" : "rows", parameters_.batch,
        parameters_.accumulation, spec.world_size, rows_->train.count(), rows_->origin);
  // Tokens are made before the clock: for all steps of a timed trial, or for an epoch at a time in a quality trial.
  if (settings.epochs > 0) prepared_at_once_ = stepsPerEpoch();
  const int64_t steps = settings.warmup + settings.over(stepsPerEpoch()).steps + kTracedSteps;
  TRY(prepareSteps(settings.epochs > 0 ? prepared_at_once_ : steps));
  const int64_t held_out = rows_->held_out.count();
  TRY(rows_->held_out.make(data::evaluationShard(held_out, ranks_.count, ranks_.rank)));
  if (!parameters_.questions.empty() && settings.epochs > 0) {
    auto questions = TRY(openQuestions(parameters_, spec.root, model.config.vocabulary, model.path, rows_->tokenizer));
    questions_ = std::move(questions.all);
    tokenizer_ = std::move(questions.tokenizer);
  }
  origin_ = {model.path, model.folder ? model.folder->naming() : llama::Naming::HuggingFace,
             tokenizerPath(parameters_, spec.root)};
  // The weights, which take longest, come after everything that a user may have got wrong.
  feed_.emplace(context_.device, parameters_.pin_memory);
  const int64_t asked = settings.epochs > 0 ? stepsOf(settings.epochs) : steps;
  if (parameters_.method == Method::Dpo) {
    // Two rows per pair. When sharding, all ranks must compute the reference if one has to.
    const bool sharded = parameters_.sharding == Sharding::Fsdp && spec.world_size > 1;
    references_.emplace(2 * (rows_->train.count() + rows_->held_out.count()), sharded ? &communicator : nullptr,
                        context_.device.torchDevice());
    // Another reference leaves the memory before the model is made, so that memory never holds both.
    if (!parameters_.reference.empty()) TRY(askOtherModel(model.config.vocabulary, asked));
  }
  decoder_ = model.decoder(parameters_, context_.device.torchDevice(), spec.seed, context_.communicator,
                           /*without_values=*/spec.rehearsal);
  if (parameters_.hasAdapters() && !parameters_.adapters.empty())
    TRY(prefixed("adapters", llama::loadAdapter(std::filesystem::path(spec.root) / parameters_.adapters, *decoder_)));
  if (decoder_->attention().kernel() == llama::AttentionKernel::Plain)
    notes_.push_back(
        "attention: this device has no fused kernel for this type and these heads, so all length x length scores are "
        "in memory");
  flops_.emplace(*decoder_);
  // With ddp the backward pass of a step's last pass averages the ranks' gradients.
  if (spec.world_size > 1 && parameters_.sharding == Sharding::Ddp)
    reducer_.emplace(context_.communicator, decoder_->trainableTensors(), std::vector<at::Tensor>());
  buildOptimizer(settings);
  // With adapters the reference is the model without them, at any time. Otherwise the first step would destroy it.
  const bool destroyed = parameters_.dpo_full || !parameters_.saved.empty();
  return references_ && destroyed && parameters_.reference.empty() ? prepareReferences(*decoder_, asked)
                                                                   : Error::success();
}

Error Training::askOtherModel(int64_t vocabulary, int64_t steps) {
  Parameters other = parameters_;
  other.model = {"", parameters_.reference};
  other.dpo_full = true;  // no adapters
  auto model = TRY(prefixed("reference_model", Model::open(other, context_.spec.root)));
  if (model.config.vocabulary != vocabulary)
    return failure("reference_model: {} has {} tokens, the model has {}: both must read the same tokens", model.path,
                   model.config.vocabulary, vocabulary);
  const auto decoder = model.decoder(other, context_.device.torchDevice(), context_.spec.seed, context_.communicator,
                                     /*without_values=*/context_.spec.rehearsal);
  return prepareReferences(*decoder, steps);
}

void Training::buildOptimizer(const Settings& settings) {
  // When sharding, Steps sums gradients or norms over the ranks itself; with ddp the reducer does it.
  std::vector<at::Tensor> weights = decoder_->trainableTensors();
  std::optional<llama::Together> together;
  if (decoder_->options().sharding) together = llama::Together{&context_.communicator, decoder_->trainsParts()};
  // Timed trials keep the rate, so that their steps are alike.
  std::optional<optimizer::WarmupSchedule> schedule;
  if (settings.epochs > 0) schedule = this->schedule(stepsOf(settings.epochs));
  const optimizer::Undecayed undecayed = parameters_.norms_decay ? optimizer::Undecayed() : decoder_->norms();
  auto optimizer = parameters_.optimizer == OptimizerKind::AdamW
                       ? optimizer::makeAdam(weights, {.learning_rate = parameters_.learning_rate,
                                                       .beta1 = parameters_.beta1,
                                                       .beta2 = parameters_.beta2,
                                                       .epsilon = parameters_.epsilon,
                                                       .weight_decay = parameters_.weight_decay,
                                                       .decoupled = true,
                                                       .undecayed = undecayed})
                       : optimizer::makeSgd(weights, {.learning_rate = parameters_.learning_rate,
                                                      .weight_decay = parameters_.weight_decay,
                                                      .undecayed = undecayed});
  steps_.emplace(std::move(optimizer), std::move(weights), schedule, parameters_.clip_norm, together);
}

optimizer::WarmupSchedule Training::schedule(int64_t steps) {
  const auto share = [steps](double of) { return int64_t(std::ceil(of * double(steps))); };
  const optimizer::WarmupSchedule result{
      .base = parameters_.learning_rate,
      .warmup_steps = parameters_.warmup_share > 0 ? share(parameters_.warmup_share) : parameters_.warmup_steps,
      .total_steps = steps,
      .kind = parameters_.schedule,
      .floor = parameters_.rate_floor,
      .decay_steps = share(parameters_.decay_share)};
  if (result.warmup_steps >= steps)
    notes_.push_back(
        fmt::format("warmup_steps is {}, but the training has only {} steps: the learning rate rose until the end",
                    result.warmup_steps, steps));
  if (parameters_.max_steps > steps)
    notes_.push_back(fmt::format("max_steps is {}, but the epochs have only {} steps", parameters_.max_steps, steps));
  return result;
}

int64_t Training::stepsOf(int64_t epochs) const {
  const int64_t all = epochs * stepsPerEpoch();
  return parameters_.max_steps > 0 ? std::min(all, parameters_.max_steps) : all;
}

int64_t Training::evaluatesEvery() const {
  return parameters_.evaluate_every == Parameters::kEachEpoch ? stepsPerEpoch() : parameters_.evaluate_every;
}

Error Training::addEvaluation(Course& course) {
  evaluated_ = TRY(evaluate(course));
  course.evaluations.push_back(evaluated_->loss);
  return Error::success();
}

// Numbers: pairs trained on first, then held-out ones; two rows each.
std::vector<int64_t> Training::referenceRows(ArrayRef<int64_t> pairs, bool held_out) const {
  const int64_t first = held_out ? rows_->train.count() : 0;
  std::vector<int64_t> rows;
  for (const int64_t side : {0, 1})
    for (const int64_t pair : pairs) rows.push_back(2 * (first + pair) + side);
  return rows;
}

at::Tensor Training::reference(const TokenPass& pass, ArrayRef<int64_t> pairs, bool held_out) {
  return references_->of(
      referenceRows(pairs, held_out), [&] { return decoder_->referenceLogProbs(pass.input, pass.labelled); },
      pass.beside);
}

llama::DpoResult Training::preferences(const TokenPass& pass, ArrayRef<int64_t> pairs, bool held_out) {
  const at::Tensor before = reference(pass, pairs, held_out);
  const at::Tensor policy = decoder_->rowLogProbs(pass.input, pass.labelled);
  const bool by_length = parameters_.preference.by_length;
  return llama::dpo(policy, before, parameters_.preference,
                    by_length ? pass.labelled.perRow(policy.size(0), policy.scalar_type()) : at::Tensor());
}

Error Training::prepareReferences(llama::Decoder& model, int64_t steps) {
  // A set of pairs, since later epochs repeat those of earlier ones.
  std::vector<bool> used(rows_->train.count());
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t* items = order_->ofStep(step);
    for (int64_t i = 0; i < order_->itemsPerStep(); ++i) used[items[i]] = true;
  }
  std::vector<int64_t> train, held_out(size_t(rows_->held_out.count()));
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) train.push_back(int64_t(i));
  std::iota(held_out.begin(), held_out.end(), 0);
  TRY(askReference(model, train, /*held_out=*/false));
  return held_out.empty() ? Error::success() : askReference(model, held_out, /*held_out=*/true);
}

Error Training::askReference(llama::Decoder& model, const std::vector<int64_t>& pairs, bool held_out) {
  const auto count = std::ssize(pairs), ranks = int64_t{context_.communicator.worldSize()};
  const int64_t rank = context_.communicator.rank(), most = (count + ranks - 1) / ranks;
  std::vector<double> values(2 * count);  // the chosen rows', then the rejected ones'
  // Each rank computes its part; all must pass the model equally often, so a rank without pairs repeats the first
  // one.
  for (int64_t from = 0; from < most; from += parameters_.batch) {
    std::vector<int64_t> places, chosen;
    for (int64_t i = from; i < std::min(most, from + parameters_.batch); ++i)
      if (i * ranks + rank < count) places.push_back(i * ranks + rank);
    for (const int64_t place : places) chosen.push_back(pairs[place]);
    if (chosen.empty()) chosen.push_back(pairs.front());
    auto pass = TRY(load(held_out, chosen));
    const at::Tensor found = model.referenceLogProbs(pass.input, pass.labelled).to(at::kCPU, at::kDouble).contiguous();
    const double* of = found.const_data_ptr<double>();
    for (size_t i = 0; i < places.size(); ++i) {
      values[places[i]] = of[i];
      values[count + places[i]] = of[places.size() + i];
    }
  }
  // Each value is on one rank and zero on the others, so the sum is exact.
  values = context_.communicator.allReduce(std::move(values), comm::Reduction::Sum);
  references_->of(referenceRows(pairs, held_out), [&] { return at::tensor(values, at::kDouble); });
  return Error::success();
}

Error Training::prepareSteps(int64_t count) {
  std::vector<int64_t> own;
  for (int64_t step = prepared_; step < prepared_ + count; ++step)
    for (int64_t pass = 0; pass < order_->accumulation(); ++pass) {
      const std::vector<int64_t> items = order_->items(step, pass, ranks_.rank);
      llvm::append_range(own, items);
    }
  TRY(rows_->train.make(own));
  rows_->train.tell(ranks_);
  prepared_ += count;
  return Error::success();
}

double Training::weightOfStep() {
  return rows_->train.weight({order_->ofStep(steps_done_), size_t(order_->itemsPerStep())});
}

Expected<TokenPass> Training::load(bool held_out, ArrayRef<int64_t> items) {
  const auto begin = base::Clock::now();
  const Range range(Phase::Load);
  Items& from = held_out ? rows_->held_out : rows_->train;
  TRY(from.make(items));
  // DPO's references are kept on the device, so their row numbers travel with the batch.
  TokenPass pass =
      feed_->send(from.batch(items), references_ ? at::tensor(referenceRows(items, held_out)) : at::Tensor());
  load_wait_ += base::secondsSince(begin);
  return pass;
}

at::Tensor Training::lossSum(const TokenPass& pass, ArrayRef<int64_t> items, bool held_out, llama::DpoResult* rewards) {
  if (!references_ && !parameters_.per_row) return decoder_->lossSum(pass.input, pass.labelled);
  const llama::DpoResult result = references_ ? preferences(pass, items, held_out) : llama::DpoResult();
  if (rewards) *rewards = result;
  return llama::weighted(references_ ? result.losses : rowLosses(*decoder_, pass), pass.row_weights).sum();
}

Expected<bool> Training::step() {
  if (!epoch_range_) epoch_range_.emplace(Phase::Epoch);
  const Range range(Phase::Step);
  // A restored training starts behind the prepared steps.
  if (steps_done_ >= prepared_) {
    prepared_ = steps_done_;
    TRY(prepareSteps(prepared_at_once_));
  }
  const auto of = [&](int64_t pass) { return order_->items(steps_done_, pass, context_.communicator.rank()); };
  TRY(take(weightOfStep(), of));
  if (++steps_done_ % stepsPerEpoch() == 0) epoch_range_.reset();
  return true;
}

Expected<std::vector<int64_t>> Training::widestItems() {
  Items& items = rows_->train;
  // Each rank makes the tokens of its part, and learns the other lengths.
  const std::vector<int64_t> own = data::evaluationShard(items.count(), ranks_.count, ranks_.rank);
  TRY(items.make(own));
  std::vector<double> longest(items.count());
  for (const int64_t item : own) longest[item] = items.longest(item);
  longest = ranks_.largestOf(std::move(longest));
  std::vector<int64_t> widest(longest.size());
  std::iota(widest.begin(), widest.end(), 0);
  std::ranges::stable_sort(widest, std::greater(), [&](int64_t item) { return longest[item]; });
  widest.resize(std::min(parameters_.batch, items.count()));
  TRY(items.make(widest));
  return widest;
}

Expected<bool> Training::widestStep() {
  if (parameters_.packing) return false;  // all packs have one length
  auto widest = TRY(widestItems());
  const double weight = rows_->train.weight(widest) * double(order_->accumulation() * ranks_.count);
  TRY(take(weight, [&](int64_t) { return widest; }));
  return true;
}

Error Training::take(double weight, const std::function<std::vector<int64_t>(int64_t pass)>& of) {
  // The reducer averages over ranks, but the loss is divided by all ranks' weight already: multiply by their number.
  const double ranks = reducer_ ? context_.communicator.worldSize() : 1;
  for (int64_t number = 0; number < order_->accumulation(); ++number) {
    const std::vector<int64_t> items = of(number);
    auto pass = TRY(load(/*held_out=*/false, items));
    // Only a step's last pass reduces, as with DistributedDataParallel's no_sync before it.
    const bool reduces = reducer_ && number + 1 == order_->accumulation();
    at::Tensor loss;
    {
      const Range forward(Phase::Forward);
      if (reduces) reducer_->beforeForward();
      loss = lossSum(pass, items, /*held_out=*/false) / weight;
    }
    {
      const Range backward(Phase::Backward);
      if (reduces) reducer_->beforeBackward();
      steps_->add(loss, ranks);
    }
    // Bookkeeping of the work, on the host while the device computes.
    for (const int64_t item : items) {
      work_.tokens += rows_->train.tokens(item);
      work_.flops += flops_->of(rows_->train.tokens(item), rows_->train.seen(item));
    }
    work_.computed += double(pass.input.tokens.numel());
  }
  {
    const Range optimizer(Phase::Optimizer);
    losses_.push_back(steps_->finish().loss);
  }
  if (reducer_) reducer_->settle();  // makes the host wait, in the first step only
  return Error::success();
}

Expected<Evaluation> Training::evaluate(Course& course) {
  const auto begin = base::Clock::now();
  at::NoGradGuard no_grad;
  const uint64_t passes = decoder_->passes();  // what dropout drops in later steps depends on them
  decoder_->setTraining(false);
  const Items& items = rows_->held_out;
  const int64_t ranks = context_.communicator.worldSize(), batch = parameters_.batch;
  // Each held-out row counts once over all ranks, whatever their number.
  const auto own = data::evaluationShard(items.count(), ranks, context_.communicator.rank());
  const int64_t most = (items.count() + ranks - 1) / ranks;
  double loss = 0, weight = 0, margin = 0, accurate = 0;  // the latter two count pairs alike
  // All ranks must pass the model equally often: one that has no row left looks at the first one again, without
  // counting it.
  for (int64_t from = 0; from < most; from += batch) {
    const int64_t left = std::clamp<int64_t>(std::ssize(own) - from, 0, batch);
    const std::vector<int64_t> chosen =
        left == 0 ? std::vector<int64_t>{0} : std::vector<int64_t>(own.begin() + from, own.begin() + from + left);
    auto pass = TRY(load(/*held_out=*/true, chosen));
    llama::DpoResult rewards;
    // .item() waits for the device, which an evaluation may do.
    const double pass_loss = lossSum(pass, chosen, /*held_out=*/true, &rewards).item<double>();
    if (left == 0) continue;
    loss += pass_loss;
    weight += items.weight(chosen);
    if (!references_) continue;
    margin += rewards.margin() * double(left);
    accurate += rewards.accuracy() * double(left);
  }
  decoder_->setTraining(true);
  decoder_->setPasses(passes);
  const auto sums = context_.communicator.allReduce({loss, weight, margin, accurate}, comm::Reduction::Sum);
  Evaluation result;
  result.loss = sums[0] / sums[1];
  if (references_) {
    result.margin = sums[2] / double(items.count());
    result.accuracy = sums[3] / double(items.count());
  }
  course.evaluation_s += base::secondsSince(begin);
  return result;
}

}  // namespace expc::workload::llm
