#include "tests/fuzz/completion.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "cli/subcommand.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "tests/fuzz/folder.h"

namespace expc::fuzz {
namespace {

constexpr size_t kMostAsked = 8;

/// What is printed while it lives, instead of on the standard output.
class Printed {
 public:
  Printed() : file_(memfd_create("printed", 0)), output_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    hold(file_ >= 0 && output_ >= 0 && dup2(file_, STDOUT_FILENO) >= 0, "the output can be caught");
  }
  std::string take() {
    std::fflush(stdout);
    dup2(output_, STDOUT_FILENO);
    std::string text(size_t(lseek(file_, 0, SEEK_END)), '\0');
    hold(pread(file_, text.data(), text.size(), 0) == ssize_t(text.size()), "the output can be read");
    close(output_);
    close(file_);
    return text;
  }

 private:
  int file_, output_;
};

/// The words that are offered, without what they mean.
std::vector<std::string> offered(const std::vector<std::string>& arguments) {
  CLI::App app{"expc", "expc"};
  cli::Asked unasked;
  cli::addTools({app, unasked});
  std::string text;
  std::vector<std::string> texts;
  CLI::App* plan = app.add_subcommand("plan", "");
  plan->add_option("file", text, "");
  for (const char* name : {"--study", "--preset", "--system", "--diff", "-D"}) plan->add_option(name, texts, "");

  Printed printed;
  const cli::Console console(cli::ColourMode::Never);
  const int code = console.codeOf(cli::printCompletion(app, arguments, console));
  const std::string whole = printed.take();
  hold(code == cli::kSuccess, "there is an answer, maybe none");
  hold(whole.empty() || whole.back() == '\n', "each word is a line");
  std::vector<std::string> words;
  for (const StringRef line : llvm::split(StringRef(whole).drop_back(whole.empty() ? 0 : 1), '\n'))
    if (!whole.empty()) words.push_back(line.split('\t').first.str());
  for (const std::string& word : words)
    hold(!word.empty() && base::printable(word) == word, "a word holds nothing that steers a terminal or ends a line");
  return words;
}

/// As bash's printf %q.
std::string quoted(const std::string& word) {
  std::string text;
  for (const char c : word) text += llvm::isAlnum(c) ? std::string(1, c) : std::string("\\") + c;
  return text;
}

/// All that is offered where `typed` is being typed behind `before`.
std::vector<std::string> offeredFor(std::vector<std::string> before, const std::string& typed) {
  before.insert(before.begin(), "--words");
  before.push_back(typed);
  std::vector<std::string> words = offered(before);
  llvm::erase_if(words, [](const std::string& word) { return word.starts_with(":"); });
  for (const std::string& word : words) hold(word.starts_with(typed), "a word goes on with what is typed");
  return words;
}

}  // namespace

void completeWords(const std::string& bytes) {
  const auto [line, study] = StringRef(bytes).split('\n');
  const std::string path = emptyFolder() + "/study.exp";
  write(path, study.str());
  (void)offered({"--line", "expc " + line.str()});
  (void)offered({"--line", fmt::format("expc plan {} {}", path, line.str())});

  (void)offeredFor({"doc", path}, "");
  for (const char* option : {"--study", "--preset", "--system", "-D"}) {
    size_t asked = 0;
    for (const std::string& word : offeredFor({"plan", path, option}, "")) {
      if (++asked > kMostAsked) break;
      std::vector<std::string> whole{word};
      if (StringRef(word).ends_with("=")) whole = offeredFor({"plan", path, option}, word);
      if (whole.size() > kMostAsked) whole.resize(kMostAsked);
      for (const std::string& one : whole)
        hold(is_contained(offered({"--line", fmt::format("expc plan {} {} {}", path, option, quoted(one))}), one),
             "what is offered is offered again where it is typed");
    }
  }
}

}  // namespace expc::fuzz
