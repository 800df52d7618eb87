#include <fmt/chrono.h>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MemoryBuffer.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/lock.h"
#include "compiler/driver/subcommand.h"
#include "compiler/driver/version.h"
#include "runtime/analysis/judgement.h"
#include "runtime/bundle/archive.h"
#include "runtime/bundle/excerpt.h"
#include "runtime/plan/json.h"
#include "runtime/report/html.h"
#include "runtime/store/maintenance.h"

namespace expc::driver {

namespace {

namespace fs = std::filesystem;
using llvm::json::Array;
using llvm::json::Object;

constexpr std::string_view kSuffix = ".bundle.tar.zst";
constexpr uint64_t kMostBytes = 16ull << 30;        // that are taken out of a bundle
constexpr const char* kManifest = "manifest.json";  // what all other files are, and what the verdicts were

/// A folder that is gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "expc-bundle-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : "";
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

llvm::Error writeText(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return llvm::Error::success();
  return llvm::createStringError(fmt::format("{}: cannot be written; is there room?", path.string()));
}

/// The study's file and all that was read for it, by the names under which they lie beside it.
llvm::Expected<std::map<std::string, std::string>> sourcesOf(const StudyOptions& options, const Console& console) {
  std::map<std::string, std::string> sources;
  const fs::path folder = fs::absolute(options.file).lexically_normal().parent_path();
  load::FileSystem real = load::FileSystem::real(), noting;
  noting.read = [&](const std::string& path) {
    llvm::Expected<std::string> text = real.read(path);
    if (text) sources[fs::absolute(path).lexically_normal().lexically_relative(folder).string()] = *text;
    return text;
  };
  Compilation compilation;
  open(options, noting, console, compilation);
  const std::string lock = lockPath(options.file);
  if (fs::exists(lock)) llvm::consumeError(noting.read(lock).takeError());
  for (const auto& [name, text] : sources) {
    if (!llvm::StringRef(name).starts_with("..")) continue;
    return llvm::createStringError(fmt::format(
        "{} lies outside of the study's folder, so it cannot lie beside it in a bundle: copy it there", name));
  }
  return sources;
}

Array verdictsOf(const analysis::Judgement& judgement) {
  Array verdicts;
  for (const analysis::CriterionResult& criterion : judgement.criteria)
    verdicts.push_back(Object{{"criterion", plan::jsonText(criterion.name)},
                              {"verdict", std::string(analysis::toString(criterion.verdict))}});
  return verdicts;
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// In the Citation File Format, which <https://citation-file-format.github.io> describes (1.2.0).
std::string citation(const plan::Plan& plan, const std::vector<std::string>& authors) {
  std::string text = fmt::format(
      "cff-version: 1.2.0\nmessage: If you use these measurements, please cite them as below.\ntype: dataset\n"
      "title: {}\ndate-released: {}\nauthors:\n",
      plan::canonicalJson(plan::jsonText(plan.doc.empty() ? plan.study : plan.study + ": " + plan.doc)), today());
  for (const std::string& author : authors)
    text += fmt::format("  - name: {}\n", plan::canonicalJson(plan::jsonText(author)));
  if (authors.empty()) text += "  - name: anonymous\n";
  return text;
}

std::string readMe(const plan::Plan& plan, const std::string& study) {
  return fmt::format(
      "# {}\n\nA study measured with expc {}: its sources, its plan, every trial that counts for it (results/journal), "
      "and the report page.\n\n"
      "    expc bundle THIS_FILE{}             # verify: digests, journal, and the verdicts once more\n"
      "    expc bundle THIS_FILE{} --to DIR    # take it out, after the same\n"
      "    expc report plan.json              # in DIR: the report of what was measured here\n"
      "    expc run {} --results mine         # the same study on your machine\n",
      plan.study, kVersion, kSuffix, kSuffix, study);
}

/// One bundle while it is made, in a folder of its own.
class Making {
 public:
  Making(const BundleOptions& options, plan::Plan plan, const Console& console)
      : options_(options), plan_(std::move(plan)), console_(console) {}

  llvm::Error make(const std::string& target) {
    if (scratch_.path().empty()) return llvm::createStringError("no folder for the bundle can be made in $TMPDIR");
    auto sources = sourcesOf(options_.study, console_);
    if (!sources) return sources.takeError();
    if (auto error = writeResults()) return error;
    for (const auto& [name, text] : *sources)
      if (auto error = write(name, text)) return error;
    if (auto error = write("plan.json", plan::canonicalJson(plan::toJson(plan_)) + "\n")) return error;
    if (auto error = write("CITATION.cff", citation(plan_, options_.authors))) return error;
    if (auto error = write("README.md", readMe(plan_, fs::path(options_.study.file).filename().string()))) return error;
    if (auto error = writeManifest()) return error;
    return bundle::pack(scratch_.path(), target);
  }

  uint64_t trials() const { return trials_; }

 private:
  llvm::Error write(const std::string& name, const std::string& text) {
    const std::string left = hidden_ ? hidden_->leftIn(text) : "";
    if (!left.empty()) console_.message(fmt::format("{} still says '{}': it is as you wrote it", name, left));
    return writeText(fs::path(scratch_.path()) / name, text);
  }

  /// Whoever reads the page and the plan learns no more than from the journal.
  void hide(const store::Results& results) {
    hidden_.emplace();
    std::set<std::string> hosts;
    for (const store::Session& session : results.sessions) hosts.insert(session.host);
    unsigned number = 0;
    for (const std::string& host : hosts) hidden_->hide(host, fmt::format("host{}", ++number));
    // That of a node stands behind that of its engine, and by itself in the description of its machine.
    for (const store::Session& session : results.sessions)
      for (llvm::StringRef rest = session.boot_id; !rest.empty();) {
        const auto [boot, more] = rest.split('+');
        hidden_->hide(boot.str(), "boot");
        rest = more;
      }
    hidden_->hide(fs::absolute(options_.results).lexically_normal().string(), "/results");
    hidden_->hide(plan_.root, "/study");
    hidden_->hideOwn();
    plan_.root = hidden_->apply(plan_.root);
    plan_.source = fs::path(plan_.source).filename().string();
  }

  llvm::Error writeResults() {
    std::vector<std::string> messages;
    auto store = store::Store::openForReading(options_.results, messages);
    for (const std::string& message : messages) console_.message(message);
    if (!store) return store.takeError();
    auto run = store->latestRun(plan_.study, false);
    if (run && !*run) run = store->latestRun(plan_.study, true);
    if (!run) return run.takeError();
    if (!*run)
      return llvm::createStringError(
          fmt::format("the study {} was never run with the results in '{}'", plan_.study, options_.results));
    auto results = store->load(plan_, (*run)->match);
    if (!results) return results.takeError();
    trials_ = results->trials.size();
    if (options_.anonymous) hide(*results);
    const std::string folder = scratch_.path() + "/results";
    if (auto error = bundle::writeExcerpt(*store, plan_, **run, *results, folder, hidden_ ? &*hidden_ : nullptr))
      return error;
    std::error_code ignored;
    fs::remove(fs::path(folder) / store::kDatabaseName, ignored);  // whoever opens the folder makes it
    return writePage(folder);
  }

  /// From what is in the bundle, so that it says the same.
  llvm::Error writePage(const std::string& folder) {
    std::vector<std::string> messages;
    auto store = store::Store::openForReading(folder, messages);
    if (!store) return store.takeError();
    auto results = store->load(plan_);
    if (!results) return results.takeError();
    const analysis::Judgement judgement = analysis::judge(plan_, *results);
    for (const store::Session& session : results->sessions) {
      auto environment = plan::parseJson(session.environment_json);
      environments_.push_back(environment ? std::move(*environment) : llvm::json::Value(nullptr));
      if (!environment) llvm::consumeError(environment.takeError());
      for (const store::Worker& worker : session.workers) workers_.push_back(plan::jsonText(worker.build));
    }
    verdicts_ = verdictsOf(judgement);
    return report::writeHtml(scratch_.path() + "/" + plan_.study + ".html", plan_, judgement, *results, {});
  }

  llvm::Error writeManifest() {
    auto names = bundle::filesBelow(scratch_.path());
    if (!names) return names.takeError();
    Object files;
    for (const std::string& name : *names) {
      auto digest = bundle::digestOf(scratch_.path() + "/" + name);
      if (!digest) return digest.takeError();
      files[name] = *digest;
    }
    const Object manifest{{"schema", "expc.bundle/1"},
                          {"study", plan::jsonText(plan_.study)},
                          {"plan_digest", plan::jsonText(plan_.digest)},
                          {"written", today()},
                          {"anonymous", options_.anonymous},
                          {"versions", Object{{"expc", std::string(kVersion)}, {"workers", std::move(workers_)}}},
                          {"environments", std::move(environments_)},
                          {"trials", trials_},
                          {"verdicts", std::move(verdicts_)},
                          {"files", std::move(files)}};
    return writeText(fs::path(scratch_.path()) / kManifest,
                     plan::prettyJson(llvm::json::Value(Object(manifest))) + "\n");
  }

  const BundleOptions& options_;
  plan::Plan plan_;
  const Console& console_;
  Scratch scratch_;
  std::optional<bundle::Anonymous> hidden_;
  Array verdicts_, environments_, workers_;
  uint64_t trials_ = 0;
};

int make(const BundleOptions& options, const Console& console) {
  const auto plans = loadMeasured(options.study, options.machine, options.results, console);
  if (!plans) return plans.code;
  if (plans->size() != 1) return console.usage("a bundle is of one study: name it with --study");
  const plan::Plan& plan = plans->front().plan;
  const std::string target = options.to.empty() ? plan.study + std::string(kSuffix) : options.to;
  Making making(options, plan, console);
  if (auto error = making.make(target)) return console.error(std::move(error));
  const bool printed =
      console.print(fmt::format("{}: {} trials of {}, with all that its report rests on{}\n", target, making.trials(),
                                plan.study, options.anonymous ? ", without names" : ""));
  return printed ? kSuccess : kError;
}

// What a stranger's bundle says is looked at before anything of it is used.

llvm::Expected<llvm::json::Value> readJson(const std::string& path) {
  auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!text) return llvm::createStringError(fmt::format("{}: {}", path, text.getError().message()));
  return plan::parseJson((*text)->getBuffer());
}

/// Whether the files are those of the manifest, byte by byte.
llvm::Error verifyFiles(const std::string& folder, const Object& manifest) {
  const Object* files = manifest.getObject("files");
  if (!files) return llvm::createStringError("its manifest names no files");
  auto names = bundle::filesBelow(folder);
  if (!names) return names.takeError();
  names->erase(kManifest);
  for (const auto& [name, digest] : *files) {
    if (!names->erase(name.str())) return llvm::createStringError(fmt::format("'{}' is missing", name.str()));
    auto found = bundle::digestOf(folder + "/" + name.str());
    if (!found) return found.takeError();
    if (digest.getAsString().value_or("") != *found)
      return llvm::createStringError(fmt::format("'{}' is not what the manifest says: it was changed", name.str()));
  }
  if (names->empty()) return llvm::Error::success();
  return llvm::createStringError(fmt::format("'{}' is not in the manifest", *names->begin()));
}

/// What the journal says once more; the error says where it differs from what the bundle says.
llvm::Expected<std::string> verifyVerdicts(const std::string& folder, const Object& manifest) {
  auto json = readJson(folder + "/plan.json");
  if (!json) return json.takeError();
  auto plan = plan::planFromJson(*json);
  if (!plan) return plan.takeError();
  auto journal = store::verify(folder + "/results");
  if (!journal) return journal.takeError();
  if (!journal->damage.empty()) return llvm::createStringError(journal->damage.front());
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder + "/results", messages);
  if (!store) return store.takeError();
  auto results = store->load(*plan);
  if (!results) return results.takeError();
  const analysis::Judgement judgement = analysis::judge(*plan, *results);
  const Array verdicts = verdictsOf(judgement);
  const Array* said = manifest.getArray("verdicts");
  if (!said || *said != verdicts)
    return llvm::createStringError("its verdicts are not those that this expc reaches from its journal");
  std::string text = fmt::format("{}: {} trials, {} criteria judged alike", plan->study, results->trials.size(),
                                 judgement.criteria.size());
  for (const analysis::CriterionResult& criterion : judgement.criteria)
    text += fmt::format("\n  {}: {}", criterion.name, analysis::toString(criterion.verdict));
  return text;
}

int look(const BundleOptions& options, const Console& console) {
  const std::string& file = options.study.file;
  std::error_code failed;
  if (!options.to.empty() && fs::exists(options.to) && !fs::is_empty(options.to, failed))
    return console.error(fmt::format("{}: is not empty; name a folder that is not there", options.to));
  const Scratch scratch;
  const std::string folder = options.to.empty() ? scratch.path() : options.to;
  const auto refuse = [&](llvm::Error error) {
    return console.error(fmt::format("{} is no bundle to rely on: {}", file, llvm::toString(std::move(error))));
  };
  fs::create_directories(folder, failed);
  if (auto error = bundle::unpack(file, folder, kMostBytes)) return refuse(std::move(error));
  auto manifest = readJson(folder + "/" + kManifest);
  if (!manifest) return refuse(manifest.takeError());
  const Object* object = manifest->getAsObject();
  if (!object || object->getString("schema").value_or("") != "expc.bundle/1")
    return refuse(llvm::createStringError("its manifest is of another schema than expc.bundle/1"));
  if (auto error = verifyFiles(folder, *object)) return refuse(std::move(error));
  auto text = verifyVerdicts(folder, *object);
  if (!text) return refuse(text.takeError());
  const std::string where = options.to.empty() ? "" : fmt::format("\ntaken out into {}", options.to);
  return console.print(*text + where + "\n") ? kSuccess : kError;
}

}  // namespace

int bundle(const BundleOptions& options, const Console& console) {
  return llvm::StringRef(options.study.file).ends_with(".tar.zst") ? look(options, console) : make(options, console);
}

}  // namespace expc::driver
