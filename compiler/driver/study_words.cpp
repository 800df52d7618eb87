#include "compiler/driver/study_words.h"

#include <algorithm>

#include "compiler/driver/compilation.h"
#include "compiler/parse/parse.h"
#include "stdlib/stdlib.h"

namespace expc::driver {

namespace {

void addOnce(std::vector<std::string>& to, const std::string& name) {
  if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

StudyWords::Setting& setting(StudyWords& words, const std::string& name, const char* meaning) {
  for (StudyWords::Setting& entry : words.settings)
    if (entry.name == name) return entry;
  words.settings.push_back({name, meaning, {}});
  return words.settings.back();
}

void addStudy(StudyWords& words, const check::Study& study) {
  for (const check::Change& preset : study.presets) addOnce(words.presets, preset.name);
  for (const check::Factor& factor : study.factors) {
    StudyWords::Setting& entry = setting(words, factor.name, "levels of a factor");
    for (const check::Level& level : factor.levels) addOnce(entry.values, level.label);
  }
  if (study.workload)
    for (const check::Parameter& parameter : study.workload->parameters) setting(words, parameter.name, "an argument");
  if (study.design) {
    for (const auto& [kind, block] : study.design->kinds)
      for (const auto& [name, value] : block.settings)
        setting(words, "design." + std::string(plan::toString(kind)) + "." + name, "a setting of the design");
    for (const auto& [name, value] : study.design->settings)
      setting(words, "design." + name, "a setting of the design");
  }
}

/// A built-in module or a file, as far as it can be read.
std::optional<ast::Module> moduleOf(const std::string& name, source::SourceManager& sources) {
  const std::string bare = name.starts_with("std.") ? name.substr(4) : name;
  diag::Collector unheard;
  diag::Emitter emitter(unheard);
  std::optional<source::FileId> file;
  if (const std::optional<std::string_view> text = stdlib::module(bare)) {
    file = sources.add(name, std::string(*text));
  } else if (llvm::Expected<std::string> read = load::FileSystem::real().read(name)) {
    file = parse::load(sources, name, std::move(*read), emitter);
  } else {
    llvm::consumeError(read.takeError());
  }
  if (!file) return std::nullopt;
  return parse::parse(sources, *file, emitter);
}

}  // namespace

StudyWords studyWords(const std::string& path, const std::string& study) {
  StudyWords words;
  Compilation compilation;
  const load::FileSystem files = load::FileSystem::real();
  llvm::Expected<std::string> text = files.read(path);
  if (text) compile(path, std::move(*text), files, compilation);
  if (!text) llvm::consumeError(text.takeError());  // nothing is known then; the command itself will say why
  if (!compilation.program) return words;
  const check::Program& program = *compilation.program;
  // Names come from what is written: a study with a mistake inside is still meant.
  for (const ast::StudyDecl& declared : program.modules.root().ast.studies) {
    words.studies.push_back(declared.name.name);
    if (study.empty() || study == declared.name.name)
      for (const ast::PresetDecl& preset : declared.presets) addOnce(words.presets, preset.name.name);
  }
  for (const ast::PresetDecl& preset : program.modules.root().ast.presets) addOnce(words.presets, preset.name.name);
  for (const ast::SystemDecl& system : program.modules.root().ast.systems) addOnce(words.systems, system.name.name);
  for (const std::unique_ptr<check::Study>& entry : program.studies)
    if (study.empty() || study == entry->name) addStudy(words, *entry);
  return words;
}

std::vector<std::string> workloadWords(const std::string& module) {
  source::SourceManager sources;
  std::vector<std::string> out;
  if (const std::optional<ast::Module> found = moduleOf(module, sources))
    for (const ast::WorkloadDecl& workload : found->workloads) out.push_back(workload.name.name);
  return out;
}

}  // namespace expc::driver
