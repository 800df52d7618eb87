// The workload llm.finetune: how its trials run, its metrics, its snapshots and the way back from one, and the
// artefacts that a quality trial leaves (adapters, a model, 4-bit weights). training.cpp has the steps.

#include <ATen/ATen.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

/// Runs a trial of any kind. The order of items follows from the number of steps, so a training need not know after
/// which epoch it continues.
Expected<protocol::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](Parameters& parameters, const Settings& settings, bool made_up) {
    if (made_up) {
      // The lengths of missing rows are unknown, so assume the longest, which take most memory. Each step gets rows
      // of its own, since DPO computes the reference of a row only once.
      parameters.data.longest = true;
      parameters.data.synthetic = parameters.batch * parameters.accumulation * parameters.gpus *
                                  (settings.warmup + settings.steps + kTracedSteps);
    }
    return [&](int64_t) { return Training::create(context, parameters, settings); };
  });
}

/// The share of padding from which on a note suggests packing.
constexpr double kMuchPadding = 0.1;

/// The mean loss of the last tenth of the steps, less noisy than the last step's.
double finalLoss(const std::vector<double>& losses) {
  const auto count = ptrdiff_t((losses.size() + 9) / 10);
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / double(count);
}

/// The metrics of timed trials. `work` is that of all ranks for `items` items; an epoch has `of_epoch` items.
std::vector<profile::Measure> timed(const Clocked& clocked, const Work& work, double items, double of_epoch,
                                    std::optional<double> utilisation) {
  return {{"iteration_time", clocked.step},
          {"tokens_per_s", work.tokens / clocked.wall},
          {"epoch_time", of_epoch * clocked.wall / items},
          {"padding_share", work.padding()},
          {"flops_utilisation", utilisation}};
}

/// The metrics of quality trials.
QualityResult judged(const Course& course, const Evaluation& evaluated, double total_time) {
  return {{{"final_loss", finalLoss(course.losses)},
           {"evaluation_loss", evaluated.loss},
           {"answer_accuracy", evaluated.answered},
           {"unquantised_answer_accuracy", evaluated.unquantised},
           {"reward_margin", evaluated.margin},
           {"reward_accuracy", evaluated.accuracy},
           {"total_time", total_time}},
          {{"loss", course.losses}, {"evaluation_curve", course.evaluations}}};
}

constexpr char kReferences[] = "references";

// Names of the tokenizer's file, in transformers' format and in Meta's.
constexpr const char* kVocabularies[] = {"tokenizer.json", "tokenizer.model", "original/tokenizer.model"};
constexpr const char* kBesideVocabulary[] = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                                             "chat_template.jinja", "generation_config.json"};

/// Writes a file, creating its folder.
Error write(const llvm::MemoryBuffer& content, const std::string& to) {
  TRY(model::makeFolder(llvm::sys::path::parent_path(to).str()));
  return files::write(to, content.getBuffer());
}

/// Copies a file if it exists.
Error copyIfThere(const std::string& from, const std::string& to, const char* name) {
  const std::string path = from + "/" + name;
  if (!llvm::sys::fs::is_regular_file(path)) return Error::success();
  auto content = TRY(files::map(path));
  return write(*content, to + "/" + name);
}

/// Copies what transformers reads beside a model's weights into the existing folder `to`: the tokenizer's files (or
/// the one that the study names in their place) and generation_config.json. Missing files are left out.
Error copyTokenizer(const Origin& origin, const std::string& to) {
  std::vector<const char*> names(std::begin(kBesideVocabulary), std::end(kBesideVocabulary));
  if (origin.tokenizer.empty()) names.insert(names.end(), std::begin(kVocabularies), std::end(kVocabularies));
  if (!origin.model_folder.empty())
    for (const char* name : names) TRY(copyIfThere(origin.model_folder, to, name));
  if (origin.tokenizer.empty()) return Error::success();
  auto content = TRY(files::map(origin.tokenizer));
  // The named file may be either kind: tokenizer.json is JSON, tokenizer.model is not.
  const bool json = content->getBuffer().ltrim().starts_with("{");
  return write(*content, to + "/" + kVocabularies[json ? 0 : 1]);
}

/// Writes `model/`, a folder that transformers loads.
Error saveModel(llama::Decoder& decoder, const Parameters& parameters, const Origin& origin, const std::string& path,
                comm::Communicator& communicator) {
  // A sharded decoder gives every weight to all ranks at once, so the writing rank calls the others for each weight.
  const bool sharded = decoder.options().sharding.has_value();
  const std::vector<llama::TensorSpec> specs = llama::weightSpecs(decoder.config());
  size_t next = 0;
  return comm::whileOneWorks(
      communicator, 0,
      [&](const comm::CallOthers& call_others) -> Error {
        const auto weight = [&](const llama::TensorSpec& spec) {
          assert(spec.index == specs[next].index && "asked for in their order");
          ++next;
          if (sharded) call_others();
          return decoder.mergedWeight(spec);
        };
        TRY(llama::writeFolder(path, decoder.config(), weight, parameters.precision, origin.naming));
        return copyTokenizer(origin, path);
      },
      [&] { decoder.weight(specs[next++]); });
}

/// Writes `int4/`. There is no config.json in it: transformers knows none of its names, and would take it for a model
/// without weights. A collective, since converting is one; only the first rank copies the weights.
Error saveInt4(llama::Decoder& decoder, const Origin& origin, const std::string& path,
               comm::Communicator& communicator) {
  decoder.convertToInt4();
  std::vector<model::NamedTensor> state;
  decoder.eachOfState([&](const model::NamedTensor& entry) {
    if (communicator.rank() == 0)
      state.push_back({entry.name, entry.tensor.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true)});
  });
  return comm::whileOneWorks(communicator, 0, [&](const comm::CallOthers&) -> Error {
    TRY(model::makeFolder(path));
    TRY(model::saveState(path + "/model.safetensors", state));
    return copyTokenizer(origin, path);
  });
}

}  // namespace

std::vector<Metric> Training::metrics() { return metricsOf(timed({}, {}, 0, 0, {}), judged({}, {}, 0)); }

void Training::describe(json::Object& environment) const { environment["attention"] = decoder_->attention().name(); }

std::optional<double> Training::utilisation(double flops, double wall) {
  if (!asked(context_.spec, "flops_utilisation")) return std::nullopt;
  const double own =
      matrixRate(parameters_.precision, context_.device.torchDevice(), [&] { context_.device.synchronize(); });
  // A single rank without memory makes the total meaningless: the smallest rate, as the largest of the negated.
  if (context_.communicator.allReduce(-own, comm::Reduction::Max) == 0) {
    notes_.push_back("flops_utilisation: no memory was left to measure the device's peak");
    return std::nullopt;
  }
  const double rate = context_.communicator.allReduce(own, comm::Reduction::Sum);
  notes_.push_back(
      fmt::format("flops_utilisation: products of square matrices, measured after the clock, reach {:.4g} GFLOP/s on "
                  "all {} devices together",
                  rate / 1e9, context_.spec.world_size));
  return std::min(1.0, flops / (rate * wall));
}

// One reduction for all sums, after the clock.
std::vector<profile::Measure> Training::measure(const Clocked& clocked, int64_t steps) {
  const std::vector<double> sums =
      context_.communicator.allReduce({work_.tokens, work_.computed, work_.flops}, comm::Reduction::Sum);
  const Work all{sums[0], sums[1], sums[2]};
  // Padding costs time without learning. DPO cannot pack, since pairs are scored row by row.
  if (all.padding() > kMuchPadding && !parameters_.packing && parameters_.method != Method::Dpo)
    notes_.push_back("more than a tenth of the tokens computed are padding; packing = true joins rows");
  return timed(clocked, all, double(order_->itemsPerStep() * steps), double(rows_->train.count()),
               utilisation(all.flops, clocked.wall));
}

Expected<QualityResult> Training::judge(Course& course) {
  // A training that was evaluated after its last step has the result, unless a checkpoint brought it here.
  if (!evaluated_) {
    evaluated_ = TRY(evaluate(course));
    if (evaluatesEvery() == 0) course.evaluations.push_back(evaluated_->loss);
  }
  const auto begin = base::Clock::now();
  if (!questions_.empty()) evaluated_->answered = answered();
  if (parameters_.method == Method::Qat && !questions_.empty() && asked(context_.spec, "unquantised_answer_accuracy")) {
    decoder_->setFakeQuant(false);
    evaluated_->unquantised = answered();
    decoder_->setFakeQuant(true);
  }
  course.evaluation_s += base::secondsSince(begin);
  return judged(course, *evaluated_,
                context_.communicator.allReduce(course.training_s + course.evaluation_s, comm::Reduction::Max));
}

Workload finetune() { return {{"llm.finetune", 1, declaredParameters(), Training::metrics()}, run}; }

/// Tensors of which each rank has a part are gathered on the first rank's host, as [ranks, n].
Snapshot Training::snapshot() {
  Snapshot result;
  const bool parts = decoder_->trainsParts(), keeps = context_.communicator.rank() == 0;
  // With parts, all ranks take part in gathering, but only the first one keeps the result.
  const auto add = [&](std::vector<model::NamedTensor>& to, const std::string& name, const at::Tensor& own, bool all) {
    const at::Tensor tensor = all ? comm::gatherOnHost(context_.communicator, own, 0) : own.detach();
    if (keeps) to.push_back({name, tensor});
  };
  for (const auto& [name, tensor] : decoder_->trainable()) add(result.model, name, tensor, parts);
  for (const auto& [name, tensor] : steps_->optimizer().state()) add(result.rest, optimizerName(name), tensor, parts);
  // Each rank knows the values of the rows that it saw, so every rank's are kept.
  if (references_) add(result.rest, kReferences, references_->values(), true);
  result.done = {steps_done_, int64_t(decoder_->passes()), steps_->scalerState()};
  return result;
}

json::Object Training::counts() const {
  return json::Object{{"training rows", rows_->train.count()}, {"rows held out", rows_->held_out.count()}};
}

/// One pass whose gradients are dropped, before a restore. The reducer lays out its buckets anew after its first
/// pass, and with three ranks or more their bounds decide the order of sums. The training that is continued has that
/// pass behind it, so this one must too, to get the same bits.
Error Training::rehearse() {
  if (!reducer_) return Error::success();
  const std::vector<int64_t> items = order_->items(0, 0, context_.communicator.rank());
  auto pass = TRY(load(/*held_out=*/false, items));
  reducer_->beforeForward();
  const at::Tensor loss = lossSum(pass, items, /*held_out=*/false) / weightOfStep();
  reducer_->beforeBackward();
  torch::autograd::backward({loss});
  steps_->optimizer().zeroGrad();
  return Error::success();
}

Error Training::restore(const safetensors::File& model, const safetensors::File& rest, const Done& done) {
  // The rehearsal comes first: it changes gradients and counters that are restored below.
  TRY(rehearse());
  const int64_t rank = context_.communicator.rank();
  const bool parts = decoder_->trainsParts();
  const auto ranks = int64_t(context_.spec.world_size);
  std::vector<model::NamedTensor> own;
  for (const auto& [name, tensor] : decoder_->trainable()) own.push_back({name, tensor.detach()});
  TRY(parts ? model::loadEntries(model, rank, ranks, own) : model::loadState(model, own));

  // Entries that every rank has its own part of are read as this rank's row.
  const auto read = [&](const safetensors::TensorInfo& info) -> Expected<at::Tensor> {
    const bool of_all = parts || info.name == kReferences;
    if (of_all && (info.shape.empty() || info.shape[0] != ranks))
      return failure("{}: tensor {} is not of {} ranks", rest.path(), info.name, ranks);
    return model::tensorOf(of_all ? model::entryOf(info, rank, ranks) : info);
  };
  auto references = TRY(restoreOptimizer(steps_->optimizer(), rest, kReferences, read));
  if (references_ && (!references.defined() || !references_->restore(references)))
    return failure("{}: the reference's log-probabilities are not those of these rows", rest.path());
  steps_->restore(done.scaler, done.steps);
  // The rehearsal counted as a pass; dropout must continue from where the other training stopped.
  decoder_->setPasses(uint64_t(done.passes));
  steps_done_ = done.steps;
  return Error::success();
}

/// Writes `adapter/` in PEFT's form; `model/` in Hugging Face's, if every weight was trained or adapters are to be
/// merged; `int4/` for qat, after which the decoder cannot be trained. The latter two have the tokenizer's files
/// beside the weights. The first rank writes, and the others wait as long as that takes.
Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& checkpoints, int64_t) {
  const std::string& folder = checkpoints.path();
  comm::Communicator& communicator = context_.communicator;
  std::vector<std::string> written;
  if (parameters_.hasAdapters()) {
    const std::string path = folder + "/adapter";
    // No tokenizer beside adapters: PEFT takes the base's, and would see one here as a reason to resize the
    // embedding.
    const auto save = [&](const comm::CallOthers&) {
      return llama::saveAdapter(path, *decoder_, origin_.model_folder);
    };
    TRY(comm::whileOneWorks(communicator, 0, save));
    written.push_back("the trained adapters: " + path);
  }
  // After qat the weights still are full ones, but the point of that method is the 4-bit model below.
  const bool whole = !parameters_.hasAdapters() && parameters_.method != Method::Qat;
  if (whole || parameters_.merged) {
    const std::string path = folder + "/model";
    TRY(saveModel(*decoder_, parameters_, origin_, path, communicator));
    written.push_back("the trained model: " + path);
  }
  if (parameters_.method == Method::Qat) {
    const std::string path = folder + "/int4";
    TRY(saveInt4(*decoder_, origin_, path, communicator));
    written.push_back("the trained weights in 4 bits: " + path);
  }
  // The artefacts are complete, so checkpoints are not needed any more.
  if (communicator.rank() == 0) checkpoints.clear();
  return written;
}

}  // namespace expc::workload::llm
