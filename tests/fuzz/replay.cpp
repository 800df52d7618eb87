// Feeds files to the functions that the fuzzers call, so that every build replays what fuzzing once found, without
// clang.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>

#include "tests/fuzz/agents.h"
#include "tests/fuzz/archives.h"
#include "tests/fuzz/completion.h"
#include "tests/fuzz/documents.h"
#include "tests/fuzz/format.h"
#include "tests/fuzz/frontend.h"
#include "tests/fuzz/groups.h"
#include "tests/fuzz/images.h"
#include "tests/fuzz/lock.h"
#include "tests/fuzz/outputs.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/talk.h"
#include "tests/fuzz/text.h"
#ifdef EXPC_FUZZ_MODEL
#include "runtime/base/format.h"
#include "tests/fuzz/model.h"
#endif

int main(int argc, char** argv) {
  size_t count = 0;
  for (int at = 1; at < argc; ++at)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[at])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      fmt::print("{}\n", entry.path().string());
      std::fflush(stdout);  // the last line names the file that broke it
      ++count;
      expc::fuzz::readImages(text.str());
      const std::string ending = entry.path().extension().string();
      if (ending == ".jpg" || ending == ".png" || ending == ".pack" || ending == ".safetensors") continue;
      expc::fuzz::compileText(text.str());
      expc::fuzz::talk(text.str());
      expc::fuzz::readTexts(text.str());
      expc::fuzz::readPlan(text.str());
      expc::fuzz::readLock(text.str());
      expc::fuzz::readRehearsal(text.str());
      expc::fuzz::readDescription(text.str());
      expc::fuzz::readSite(text.str());
      expc::fuzz::readJob(text.str());
      expc::fuzz::completeWords(text.str());
      expc::fuzz::readAgentWords(text.str());
      expc::fuzz::readBundle(text.str());
      expc::fuzz::readGroups(text.str());
      expc::fuzz::readOutput(text.str());
      expc::fuzz::readWords(text.str());
      expc::fuzz::readJournal(text.str());
#ifdef EXPC_FUZZ_MODEL
      expc::fuzz::readModel(text.str());
#endif
      expc::fuzz::formatText(text.str());
    }
  fmt::print("{} inputs\n", count);
  return count > 0 ? 0 : 1;
}
