#include "tests/fuzz/outputs.h"

#include <llvm/ADT/StringExtras.h>

#include "runtime/plan/json.h"
#include "runtime/plan/json_record.h"
#include "runtime/worker/command/readers.h"
#include "tests/fuzz/hold.h"
#include "tests/fuzz/twice.h"

namespace expc::fuzz {
namespace {

void look(llvm::Error error) {
  if (error) hold(!llvm::toString(std::move(error)).empty(), "an error says something");
}

void look(llvm::Expected<command::Values> values) {
  if (!worked(values)) return;
  hold(!values->empty(), "there is a value");
}

}  // namespace

void readOutput(const std::string& bytes) {
  const auto [first, output] = llvm::StringRef(bytes).split('\n');
  const std::string where = first.str();
  std::string left;
  for (const command::Which which : {command::Which::Last, command::Which::All}) {
    if (auto pattern = command::Pattern::compile(where, command::Pattern::Use::Number); worked(pattern))
      look(pattern->read(output, which, &left));
    look(command::readColumn(output, where, which));
    look(command::readLines(output, which));
  }
  if (auto pattern = command::Pattern::compile(where, command::Pattern::Use::Match); worked(pattern))
    look(pattern->match(output));
  look(command::checkPointer(where));
  if (auto numbers = command::readJson(output, where); worked(numbers))
    hold(!numbers->values.empty(), "there is a value");
  look(command::readTruth(output, where));
}

void readWords(const std::string& bytes) {
  for (llvm::StringRef line : llvm::split(bytes, '\n')) {
    if (auto event = plan::eventFromLine(line); worked(event)) {
      const std::string written = plan::toLine(*event);
      auto again = plan::eventFromLine(written);
      hold(worked(again), "what is written is read");
      hold(plan::toLine(*again) == written, "and is the same");
    }
    auto value = plan::parseJson(line);
    if (!worked(value)) continue;
    readTwice(*value, readRecord<plan::LaunchReply>);
    readTwice(*value, readRecord<plan::LaunchRequest>);
    readTwice(*value, readRecord<plan::TrialSpec>);
  }
}

}  // namespace expc::fuzz
