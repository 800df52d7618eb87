#include "tests/fuzz/outputs.h"

#include <llvm/ADT/StringExtras.h>

#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/command/readers.h"
#include "tests/fuzz/hold.h"
#include "tests/fuzz/twice.h"

namespace expc::fuzz {
namespace {

void look(Error error) {
  if (error) hold(!toString(std::move(error)).empty(), "an error says something");
}

void look(Expected<command::Values> values) {
  if (!worked(values)) return;
  hold(!values->empty(), "there is a value");
}

}  // namespace

void readOutput(const std::string& bytes) {
  const auto [first, output] = StringRef(bytes).split('\n');
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
  for (StringRef line : llvm::split(bytes, '\n')) {
    if (auto event = protocol::eventFromLine(line); worked(event)) {
      const std::string written = protocol::toLine(*event);
      auto again = protocol::eventFromLine(written);
      hold(worked(again), "what is written is read");
      hold(protocol::toLine(*again) == written, "and is the same");
    }
    auto value = base::parseJson(line);
    if (!worked(value)) continue;
    readTwice(*value, readRecord<protocol::LaunchReply>);
    readTwice(*value, readRecord<protocol::LaunchRequest>);
    readTwice(*value, readRecord<protocol::TrialSpec>);
  }
}

}  // namespace expc::fuzz
