// Hints about variables and files that commands did not get. They are guesses from names: a hint appears only if
// something of that name exists here and was not passed on.

#include "runtime/engine/not_given.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Regex.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "runtime/base/format.h"
#include "runtime/base/text.h"

namespace expc::engine {
namespace {

namespace fs = std::filesystem;

/// Prefixes of variables that training libraries and their run-times read.
constexpr StringRef kKnown[] = {
    "HF_",     "HUGGING",  "TRANSFORMERS_", "TOKENIZERS_", "ACCELERATE_", "WANDB_",   "MLFLOW_",    "NCCL_",
    "GLOO_",   "UCX_",     "OMPI_MCA_",     "PYTORCH_",    "TORCH",       "CUDA_",    "CUBLAS_",    "CUDNN_",
    "TRITON_", "XLA_",     "JAX_",          "TF_GPU_",     "TF_XLA_",     "TF_FORCE", "OMP_",       "KMP_",
    "MKL_",    "OPENBLAS", "HIP_",          "ROCR_",       "HSA_",        "MALLOC_",  "LD_PRELOAD", "PYTHONHASHSEED"};

/// Whether a training library reads the variable. Container images set NAME_VERSION as labels, which nothing reads.
bool isKnown(StringRef name) {
  return !name.ends_with("_VERSION") &&
         std::ranges::any_of(kKnown, [&](StringRef one) { return name.starts_with(one); });
}

/// The words of a message that may be names or paths, without quotes and punctuation around them.
std::set<std::string> namesIn(StringRef text) {
  std::set<std::string> names;
  while (!text.empty()) {
    const StringRef name =
        text.take_while([](char c) { return llvm::isAlnum(c) || (c & 0x80) != 0 || StringRef("_./-+@%").contains(c); });
    if (const StringRef bare = name.rtrim('.'); !bare.empty()) names.insert(bare.str());
    text = text.drop_front(std::max<size_t>(name.size(), 1));
  }
  return names;
}

/// "data/train.txt" where `name` stands for a file of the study's folder that the trial's folder lacks; "" else.
std::string besideStudy(StringRef name, const std::string& root, const std::string& folder) {
  // Programs name files relative to their folder, or with its absolute path.
  name.consume_front(folder + "/");
  name.consume_front("./");
  std::string path = fs::path(name.str()).lexically_normal().string();
  std::error_code failed;
  // A plain word without a dot or slash is no path; absolute and parent paths lie outside of the study.
  if (path.find_first_of("./") == std::string::npos || path.front() == '/' || path.front() == '.') return "";
  if (path.back() == '/') path.pop_back();
  const bool here = fs::exists(fs::path(root) / path, failed), there = fs::exists(fs::path(folder) / path, failed);
  return !here || there ? "" : fs::is_directory(fs::path(root) / path, failed) ? path + "/**" : path;
}

}  // namespace

std::vector<std::string> notGivenLines(const CommandEnvironment& environment,
                                       const std::vector<inputs::CommandFiles>& files) {
  std::vector<std::string> known, lines;
  std::ranges::copy_if(environment.withheld, std::back_inserter(known), isKnown);
  if (!known.empty())
    lines.push_back(fmt::format("{} {} set here but not passed to commands; --pass-env NAME passes one",
                                fmt::join(known, ", "), base::are(known.size())));
  for (const inputs::CommandFiles& one : files)
    for (const inputs::Import& import : one.imports)
      lines.push_back(
          fmt::format("{0} imports {1}, which is not an input, so a change of it goes unnoticed: inputs "
                      "\"{1}\"",
                      import.script, import.module));
  return lines;
}

std::string notGivenText(const std::string& reason, const plan::Command& command, const CommandEnvironment& environment,
                         const std::string& root, const std::string& folder) {
  std::string text;
  std::set<std::string> names = namesIn(reason), beside;
  for (const std::string& name : environment.withheld)
    // Very short names occur in messages by chance.
    if (names.contains(name) && name.size() > 2)
      text += fmt::format("; {0} is set here but not passed to commands: --pass-env {0}", name);
  llvm::SmallVector<StringRef> parts;
  // Python's ModuleNotFoundError.
  if (llvm::Regex("No module named '?([[:alnum:]_]+)([[:alnum:]_.]*)").match(reason, &parts)) {
    std::string module = parts[1].str();
    std::error_code failed;
    if (fs::exists(fs::path(folder) / module, failed)) module += parts[2].str();  // only a part of it is missing
    // A module may be a file or a package, so both names are tried.
    std::ranges::replace(module, '.', '/');
    for (const char* form : {".py", "/"}) names.insert(module + form);
  }
  // A result that the program failed to write may exist beside the study from an earlier run by hand.
  const auto isResult = [&](const std::string& path) {
    return std::ranges::any_of(command.metrics, [&](const auto& metric) { return metric.file == path; }) ||
           std::ranges::any_of(command.expectations, [&](const auto& one) { return one.read.file == path; });
  };
  for (const std::string& name : names)
    if (std::string path = besideStudy(name, root, folder); !path.empty() && !isResult(path))
      beside.insert(std::move(path));
  for (const std::string& path : beside)
    text += fmt::format("; {0} is next to the study but not in the trial's folder: inputs \"{0}\"", path);
  return text;
}

}  // namespace expc::engine
