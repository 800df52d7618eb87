// `expc bundle`: packs a study with its evidence into one archive, and verifies or unpacks one. A bundle holds the
// study's sources, small inputs, plan, the journal of the trials that count, the report page, a citation and a manifest
// with digests of all of these. Verifying means: the files are those of the manifest, the journal is whole, and this
// expc reaches the same verdicts from it. The archive format is runtime/bundle; this file decides what goes in. A
// stranger's bundle is unpacked into a folder of its own and used only after all checks.

#include <fmt/chrono.h>
#include <llvm/ADT/StringExtras.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/lock.h"
#include "cli/version.h"
#include "compiler/parse/words.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/numbers.h"
#include "runtime/base/text.h"
#include "runtime/bundle/archive.h"
#include "runtime/bundle/excerpt.h"
#include "runtime/describe/description.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "runtime/report/commands.h"
#include "runtime/report/html.h"
#include "runtime/simulate/forecast.h"
#include "runtime/store/maintenance.h"
#include "runtime/store/match.h"

namespace expc::cli {

namespace {

namespace fs = std::filesystem;
using json::Array;
using json::Object;

// A made bundle ends in kSuffix; any file that ends in kArchive is read as a bundle.
constexpr std::string_view kSuffix = ".bundle.tar.zst", kArchive = ".tar.zst";
/// The file that lists all other files with digests, and the verdicts.
constexpr const char* kManifest = "manifest.json";

/// Returns the texts of the study's file, everything that it imports, and its lock, by their paths relative to the
/// study's folder. They are found by compiling the study through a file system that notes what is read. The error names
/// a file outside of that folder.
Expected<std::map<std::string, std::string>> sourcesOf(const StudyOptions& options, const Console& console) {
  std::map<std::string, std::string> sources;
  const fs::path folder = fs::absolute(options.file).lexically_normal().parent_path();
  load::FileSystem real = load::FileSystem::real(), noting;
  noting.read = [&](const std::string& path) {
    Expected<std::string> text = real.read(path);
    if (text) sources[fs::absolute(path).lexically_normal().lexically_relative(folder).string()] = *text;
    return text;
  };
  Compilation compilation;
  open(options, noting, console, compilation);
  consumeError(noting.read(lockPath(options.file)).takeError());  // there may be none
  for (const auto& [name, text] : sources) {
    if (!StringRef(name).starts_with("..")) continue;
    return failure("{} is outside the study's folder, so a bundle cannot contain it: copy it into that folder", name);
  }
  return sources;
}

/// Returns the verdict of each criterion, in the plan's order, as the manifest holds them.
Array verdictsOf(const Judgement& judgement) {
  Array verdicts;
  for (const CriterionResult& criterion : judgement.criteria)
    verdicts.push_back(
        Object{{"criterion", jsonText(criterion.name)}, {"verdict", std::string(judge::toString(criterion.verdict))}});
  return verdicts;
}

/// Returns the date in UTC, such as 2026-11-23.
std::string today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// Returns a citation of the measurements in the Citation File Format 1.2.0 (<https://citation-file-format.github.io>).
std::string citation(const Plan& plan, const std::vector<std::string>& authors) {
  std::string text = fmt::format(
      "cff-version: 1.2.0\nmessage: If you use these measurements, please cite them as below.\ntype: dataset\n"
      "title: {}\ndate-released: {}\nauthors:\n",
      base::jsonLiteral(plan.doc.empty() ? plan.study : plan.study + ": " + plan.doc), today());
  for (const std::string& author : authors) text += fmt::format("  - name: {}\n", base::jsonLiteral(author));
  if (authors.empty()) text += "  - name: anonymous\n";
  return text;
}

/// An input of trials that the archive does not hold, and why; readers get its digest to check their own copy.
struct LeftOut {
  std::string name, digest, why;
  Object json() const { return Object{{"name", jsonText(name)}, {"digest", jsonText(digest)}, {"why", jsonText(why)}}; }
};

/// Maps each file of commands and data that the run's trials read, by the name it had, to its digest. Programs outside
/// of the study's folder belong to the machine and are not listed.
std::map<std::string, std::string> readBy(const store::Run& run, const Plan& plan) {
  std::map<std::string, std::string> read;
  const auto& digests = run.match.data_digests;
  for (const std::string& path : plan.data_paths)
    if (const auto found = digests.find(path); found != digests.end()) read.insert(*found);
  for (const plan::Workload& workload : plan.workloads)
    for (const auto& [key, digest] : digests)
      if (StringRef name(key); workload.command &&
                               name.consume_front(store::partKey(store::commandKey(workload), "")) &&
                               !name.starts_with("../"))
        read[name.str()] = digest;
  return read;
}

/// Returns the bundle's README: the commands to verify and use it, and which inputs to add by hand.
std::string readMe(const Plan& plan, const std::string& run, const std::vector<LeftOut>& left_out) {
  std::string text = fmt::format(
      "# {}\n\nA study measured with expc {}: its sources, its small inputs, its plan, every trial that counts for it "
      "(results/journal), and the report page.\n\n",
      plan.study, kVersion);
  const std::string open = fmt::format("expc bundle THIS_FILE{}", kSuffix);
  for (const auto& [what, command] : {std::pair("Verify digests, journal and verdicts", open),
                                      {"Do the same and unpack it", open + " --to DIR"},
                                      {"In DIR, report what was measured here", "expc report plan.json"},
                                      {"In DIR, run the same study on your machine", run}})
    text += fmt::format("{}:\n\n    {}\n\n", what, command);
  if (!left_out.empty())
    text += "## Inputs that are not in this archive\n\nPut each into DIR under its name before you run the study:\n\n";
  for (const LeftOut& one : left_out) text += fmt::format("- `{}` {} (digest {})\n", one.name, one.why, one.digest);
  return text;
}

/// Rejects names below results/ that no bundle has, both when packing and when verifying. In particular a lease of
/// another engine must not be unpacked: it would be believed.
Error verifyNames(const std::string& folder) {
  auto names = TRY(bundle::filesBelow(folder));
  for (const StringRef name : names)
    if (name.starts_with("results/") && !name.starts_with("results/journal/") && !name.starts_with("results/outputs/"))
      return failure("it contains '{}', which is not part of any bundle", name.str());
  return Error::success();
}

/// Makes one bundle in a temporary folder, then packs it. Call make() once; contents() and leftOut() describe the
/// result.
class Making {
 public:
  Making(const BundleOptions& options, Plan plan, const Console& console)
      : options_(options), plan_(std::move(plan)), root_(plan_.root), console_(console) {}

  /// Writes everything into the temporary folder and packs it into `target`. The order matters: results come first,
  /// since inputs and page depend on them (and on what anonymity hides); the study's sources overwrite inputs of the
  /// same names; the manifest comes last, since it lists all others.
  Error make(const std::string& target) {
    if (scratch_.path().empty()) return failure("cannot make a folder for the bundle in $TMPDIR");
    auto sources = TRY(sourcesOf(options_.study, console_));
    TRY(writeResults());
    // Sources overwrite copied inputs of the same names: they are what was compiled.
    for (const auto& [name, text] : sources) TRY(write(name, text));
    TRY(write("plan.json", canonicalJson(plan::toJson(plan_)) + "\n"));
    TRY(write("CITATION.cff", citation(plan_, options_.authors)));
    Plan moved = plan_;
    moved.source = fs::path(options_.study.file).filename().string();
    TRY(write("README.md", readMe(plan_, report::repeatCommand(moved, "mine"), left_out_)));
    // The excerpt is a store, and a lease that it could not remove must not travel.
    TRY(verifyNames(scratch_.path()));
    TRY(writeManifest());
    // Last check of an anonymous bundle: no hidden name may stand in any file, wherever it came from.
    if (hidden_) {
      std::set<std::string> unsought;
      TRY(hidden_->search(scratch_.path(), unsought));
      if (!unsought.empty())
        console_.message("hidden in records only, because every bundle uses the word: {}", llvm::join(unsought, ", "));
    }
    return bundle::pack(scratch_.path(), target);
  }

  /// "12 trials of s, its report and 2 inputs"
  std::string contents() const {
    return fmt::format("{} trials of {}, its report and {}{}", trials_, plan_.study, base::counted(inputs_, "input"),
                       options_.anonymous ? ", without names" : "");
  }
  const std::vector<LeftOut>& leftOut() const { return left_out_; }

 private:
  /// Writes a file of the bundle; failing to make its folder shows up as failing to write.
  Error write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(scratch_.path()) / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    return files::write(path.string(), text);
  }

  /// Collects the names to hide from the results (hosts, users, folders), and removes folders from the plan. Words that
  /// every bundle contains, such as keywords and keys of JSON, are `own`: hiding those would damage each file.
  void hide(const Results& results) {
    bundle::Words own;
    for (const std::string& text : {report::htmlPage({{}, {}, {}}, {}), readMe({}, "", {{}}), citation({}, {})})
      own.add(text);
    for (int role = 0; role <= int(words::Role::Property); ++role)
      for (const std::string& word : words::texts(words::Role(role))) own.add(word);
    own.addKeys(plan::toJson(plan_));
    hidden_.emplace(results, plan_.root, fs::absolute(options_.results).lexically_normal().string(), std::move(own));
    plan_.root = "/study";
    plan_.source = fs::path(plan_.source).filename().string();
  }

  /// Copies inputs and writes the excerpt of the store with the trials that count for the plan, then the page.
  Error writeResults() {
    auto store = TRY(openStore(options_.results, &console_));
    const Results results = store.load(plan_);
    const store::Run* run = store.latestRun(plan_);
    if (!run && results.kept_not_counted > 0)
      return failure("'{}' has no usable results of study {}. Stored but ignored: {}", options_.results, plan_.study,
                     results.not_counted_reasons.front());
    if (!run) return failure("'{1}' has no results of study {0}: run it first", plan_.study, options_.results);
    trials_ = results.trials.size();
    for (const auto& [name, digest] : readBy(*run, plan_)) {
      auto why = TRY(copyInput(name, digest));
      if (why.empty())
        ++inputs_;
      else
        left_out_.push_back({name, digest, why});
    }
    if (options_.anonymous) hide(results);
    const std::string folder = scratch_.path() + "/results";
    TRY(bundle::writeExcerpt(store, plan_, *run, results, folder, hidden_ ? &*hidden_ : nullptr));
    return writePage(folder);
  }

  /// Copies a file or folder that trials read. Returns "", or why the archive does not hold it; that is no error.
  Expected<std::string> copyInput(const std::string& name, const std::string& digest) {
    const fs::path plain = fs::path(name).lexically_normal(), from = root_ / plain, to = scratch_.path() / plain;
    const std::string first = plain.empty() ? "." : plain.begin()->string();
    if (plain.is_absolute() || first == ".." || first == ".") return "is outside the study's folder";
    // An input must not take the place of the bundle's own files.
    for (const std::string& own : {std::string("results"), std::string("plan.json"), std::string("CITATION.cff"),
                                   std::string("README.md"), std::string(kManifest), plan_.study + ".html"})
      if (first == own) return "has the name of another file in the archive";
    // Sizes are added up while walking, and the walk ends at the limit: an input may be a whole disk.
    uint64_t bytes = 0;
    std::vector<fs::path> found;
    std::error_code failed;
    Error missing = files::eachFile(from.string(), [&](const std::string& file) {
      bytes += fs::file_size(file, failed);
      found.emplace_back(file);
      return bytes <= bundle::kMostOfInput ? Error::success() : failure("a folder of more");
    });
    const bool large = bytes > bundle::kMostOfInput || bytes > bundle::kMostOfInputs - input_bytes_;
    if (missing) consumeError(std::move(missing));
    if (large)
      return fmt::format("has {}{}, more than fits into a bundle", found.front() == from ? "" : "at least ",
                         base::formatQuantity(double(bytes), "B"));
    if (found.empty()) return "no longer exists";
    for (const fs::path& file : found) {
      auto text = TRY(files::read(file.string()));
      const fs::path target = file == from ? to : to / file.lexically_relative(from);
      fs::create_directories(target.parent_path(), failed);
      TRY(files::write(target.string(), text->getBuffer()));
      fs::permissions(target, fs::status(file, failed).permissions() | fs::perms::owner_write, failed);
    }
    // The digest is taken of the copy: the original may change at any time. An input that is not what was measured is
    // worse than none.
    auto copied = TRY(engine::inputs::digestPath(to.string(), [] { return Error::success(); }));
    if (copied != digest) return files::removeTree(to.string()), "has changed since it was measured";
    input_bytes_ += bytes;
    return "";
  }

  /// Writes the page from the excerpt, not from the original store, so that page, journal and manifest say the same.
  Error writePage(const std::string& folder) {
    auto store = TRY(openStore(folder));
    const Results results = store.load(plan_);
    const Conclusions judgement = simulate::judge(plan_, results);
    for (const store::Session& session : results.sessions) {
      auto environment = expectedToOptional(parseJson(session.environment_json));
      environments_.push_back(environment ? std::move(*environment) : json::Value(nullptr));
      for (const store::Worker& worker : session.workers) workers_.push_back(jsonText(worker.build));
    }
    verdicts_ = verdictsOf(judgement);
    return report::writeHtml(scratch_.path() + "/" + plan_.study + ".html", {plan_, judgement, results}, {});
  }

  /// Writes the manifest with the digest of every file so far.
  Error writeManifest() {
    auto names = TRY(bundle::filesBelow(scratch_.path()));
    Object files;
    for (const std::string& name : names) files[name] = TRY(bundle::digestOf(scratch_.path() + "/" + name));
    Array left_out;
    for (const LeftOut& one : left_out_) left_out.push_back(one.json());
    const Object manifest{{"schema", "expc.bundle/1"},
                          {"study", jsonText(plan_.study)},
                          {"plan_digest", jsonText(plan_.digest)},
                          {"written", today()},
                          {"anonymous", options_.anonymous},
                          {"versions", Object{{"expc", std::string(kVersion)}, {"workers", std::move(workers_)}}},
                          {"environments", std::move(environments_)},
                          {"trials", trials_},
                          {"verdicts", std::move(verdicts_)},
                          {"inputs_left_out", std::move(left_out)},
                          {"files", std::move(files)}};
    return write(kManifest, base::prettyJson(json::Value(Object(manifest))) + "\n");
  }

  // The plan's folder changes when it is made anonymous; `root_` keeps where the inputs are.
  const BundleOptions& options_;
  Plan plan_;
  const fs::path root_;
  const Console& console_;
  const files::TemporaryFolder scratch_;
  std::optional<bundle::Anonymous> hidden_;
  Array verdicts_, environments_, workers_;
  std::vector<LeftOut> left_out_;
  uint64_t trials_ = 0, inputs_ = 0, input_bytes_ = 0;
};

/// Packs a study: `expc bundle STUDY.exp`.
Exit make(const BundleOptions& options, const Console& console) {
  const auto plans = TRY(loadMeasured(options, console));
  if (plans.size() != 1) return usage("a bundle holds one study: choose it with --study");
  const Plan& plan = plans.front().plan;
  // The ending is how `expc bundle` tells an archive to verify from a study to pack.
  const std::string target = options.to.empty() ? plan.study + std::string(kSuffix) : options.to;
  if (!target.ends_with(kArchive)) return usage("--to needs a name that ends in {0}, such as {1}{0}", kArchive, target);
  Making making(options, plan, console);
  TRY(making.make(target));
  std::string text = fmt::format("{}: {}\n", target, making.contents());
  for (const LeftOut& one : making.leftOut()) text += fmt::format("not included: {} {}\n", one.name, one.why);
  return console.finish(text);
}

// ---- verifying: a stranger's bundle is checked before anything in it is used

Expected<json::Value> readJson(const std::string& path) {
  auto text = TRY(files::read(path));
  return parseJson(text->getBuffer());
}

/// Fails unless the files are exactly those of the manifest, byte by byte: none missing, changed or added.
Error verifyFiles(const std::string& folder, const Object& manifest) {
  const Object* files = manifest.getObject("files");
  if (!files) return failure("its manifest lists no files");
  auto names = TRY(bundle::filesBelow(folder));
  // The manifest cannot hold its own digest.
  names.erase(kManifest);
  for (const auto& [name, digest] : *files) {
    if (!names.erase(name.str())) return failure("file '{}' is missing", name.str());
    auto found = TRY(bundle::digestOf(folder + "/" + name.str()));
    if (digest.getAsString().value_or("") != found) return failure("file '{}' differs from the manifest", name.str());
  }
  if (names.empty()) return Error::success();
  return failure("file '{}' is not in the manifest", *names.begin());
}

/// Judges the journal again and returns a summary; the error says that it is damaged or that the verdicts differ from
/// the bundle's.
Expected<std::string> verifyVerdicts(const std::string& folder, const Object& manifest) {
  auto json = TRY(readJson(folder + "/plan.json"));
  auto plan = TRY(plan::planFromJson(json));
  auto journal = TRY(store::verify(folder + "/results"));
  if (!journal.damage.empty()) return failure("{}", journal.damage.front());
  auto store = TRY(openStore(folder + "/results"));
  const Results results = store.load(plan);
  const Judgement judgement = judge::judge(plan, results);
  const Array verdicts = verdictsOf(judgement);
  const Array* said = manifest.getArray("verdicts");
  // A verdict may differ since someone changed the journal or the manifest, or since this version judges otherwise.
  if (!said || *said != verdicts)
    return failure("its verdicts differ from those that this expc computes from its journal");
  std::string text = fmt::format("{}: verified; {} trials, {} criteria with the same verdicts", plan.study,
                                 results.trials.size(), judgement.criteria.size());
  for (const CriterionResult& criterion : judgement.criteria)
    text += fmt::format("\n  {}: {}", criterion.name, judge::toString(criterion.verdict));
  if (const Array* left_out = manifest.getArray("inputs_left_out"))
    for (const json::Value& one : *left_out)
      if (const Object* input = one.getAsObject())
        text += fmt::format("\nnot included: {} {}; put it into the folder before you run the study",
                            input->getString("name").value_or("").str(), input->getString("why").value_or("").str());
  return text;
}

/// Verifies an unpacked bundle. Names come first, then digests, and only then is anything parsed that a stranger wrote.
Expected<std::string> verify(const std::string& folder) {
  TRY(verifyNames(folder));
  auto manifest = TRY(readJson(folder + "/" + kManifest));
  const Object* object = manifest.getAsObject();
  if (!object || object->getString("schema").value_or("") != "expc.bundle/1")
    return failure("its manifest does not have the schema expc.bundle/1");
  TRY(verifyFiles(folder, *object));
  return verifyVerdicts(folder, *object);
}

/// Verifies a bundle and, with `--to`, leaves the unpacked folder there: `expc bundle FILE.tar.zst`.
Exit look(const BundleOptions& options, const Console& console) {
  std::error_code failed;
  const fs::path target = options.to.empty() ? fs::path() : fs::absolute(options.to).lexically_normal();
  if (!options.to.empty() && fs::exists(target, failed) && !fs::is_empty(target, failed))
    return failure("{} exists and is not empty; name a new folder", options.to);
  // The work folder is made on the target's disk, so that the final rename is atomic. The target's own folders are
  // created only once every check has passed.
  const fs::path above = target.has_filename() ? target.parent_path() : target.parent_path().parent_path();
  fs::path beside = above;
  while (!beside.empty() && !fs::exists(beside, failed)) beside = beside.parent_path();
  const files::TemporaryFolder scratch(beside.string());
  if (scratch.path().empty()) return failure("cannot make a folder in {}: name another with --to DIR", beside.string());
  const std::string folder = scratch.path() + "/bundle";
  fs::create_directory(folder, failed);
  Error unreadable = bundle::unpack(options.study.file, folder);
  auto verdicts = unreadable ? Expected<std::string>(std::move(unreadable)) : verify(folder);
  if (!verdicts) return failure("verification failed: {}: {}", options.study.file, verdicts.takeError());
  if (options.to.empty()) return console.finish(*verdicts + "\n");
  fs::create_directories(above, failed);
  if (!failed) fs::rename(folder, target, failed);
  if (failed) return failure("cannot make {}: {}", options.to, failed.message());
  return console.finish(fmt::format("{}\nunpacked into {}\n", *verdicts, options.to));
}

}  // namespace

Exit bundle(const BundleOptions& options, const Console& console) {
  return options.study.file.ends_with(kArchive) ? look(options, console) : make(options, console);
}

}  // namespace expc::cli
