#include "nullgpu/core/configuration.h"

#include "nullgpu/tests/child.h"

using namespace nullgpu;
using nullgpu::testing::inChild;
using nullgpu::testing::Outcome;

namespace {

Outcome read(const std::map<std::string, std::string>& environment) {
  return inChild(environment, [](std::FILE* out) {
    const Configuration& read = configuration();
    std::fprintf(out, "%u %lu %u %lu %s", read.cards, read.memory, read.capability, read.seed, read.machine.c_str());
  });
}

std::string faults(const std::string& text, const std::string& rank = "") {
  const Outcome outcome = inChild({{"NULLGPU_FAULTS", text}}, [&](std::FILE* out) {
    // A launcher sets the rank in the same way: after the library is loaded.
    if (!rank.empty()) setenv("RANK", rank.c_str(), 1);
    const Faults& read = configuration().faults;
    std::fprintf(out, "%lu %lu %d", read.launch.value_or(0), read.memory.value_or(0), int(read.cublas));
  });
  CHECK(outcome.errors == "");
  return outcome.said;
}

}  // namespace

TEST_CASE("the environment describes the cards") {
  CHECK(read({}).said == "4 85899345920 90 1 ");
  CHECK(read({{"NULLGPU_CARDS", "0"}, {"NULLGPU_MEMORY", "1000000"}}).said == "0 1000000 90 1 ");
  CHECK(read({{"NULLGPU_MEMORY", "94GiB"}, {"NULLGPU_CAPABILITY", "7.5"}}).said == "4 100931731456 75 1 ");
  CHECK(read({{"NULLGPU_MEMORY", "1.5 GB"}, {"NULLGPU_SEED", "7"}, {"NULLGPU_MACHINE", "/x"}}).said ==
        "4 1500000000 90 7 /x");
}

TEST_CASE("a variable that cannot be read ends the process with one line that names it") {
  const auto refuses = [](const std::string& name, const std::string& value, const std::string& reason) {
    CAPTURE(name);
    CAPTURE(value);
    const Outcome outcome = read({{name, value}});
    CHECK(outcome.code() == 2);
    CHECK(outcome.errors.find('\n') == outcome.errors.size() - 1);
    CHECK(outcome.mentions(name + "=\""));
    CHECK(outcome.mentions(reason));
  };
  refuses("NULLGPU_CARDS", "many", "not a number of cards");
  refuses("NULLGPU_CARDS", "65", "from 0 to 64");
  refuses("NULLGPU_CARDS", "-1", "not a number of cards");
  refuses("NULLGPU_MEMORY", "80 gigabytes", "a size");
  refuses("NULLGPU_MEMORY", "0", "without memory");
  refuses("NULLGPU_MEMORY", "nan", "a size");
  refuses("NULLGPU_MEMORY", "99999999999TiB", "a size");
  refuses("NULLGPU_CAPABILITY", "90", "7.5 or 9.0");
  refuses("NULLGPU_SEED", "x", "a whole number");
  refuses("NULLGPU_DROP", "all", "a size");
  refuses("NULLGPU_FAULTS", "lanch=5", "no such fault; there are rank=R");
  refuses("NULLGPU_FAULTS", "launch", "from 1 on");
  refuses("NULLGPU_FAULTS", "launch=0", "from 1 on");
  refuses("NULLGPU_FAULTS", "cublas=1", "takes no value");
  refuses("NULLGPU_FAULTS", "launch=1,launch=2", "twice");
  refuses("NULLGPU_FAULTS", "launch=1,,cudnn", "empty entry");
  refuses("NULLGPU_FAULTS", "rank=first", "wants a rank");
}

TEST_CASE("faults concern the process of the named rank, whose rank may be set late") {
  CHECK(faults("launch=5, memory=1GiB,cublas") == "5 1073741824 1");
  CHECK(faults("launch=5, rank=1", "1") == "5 0 0");
  CHECK(faults("launch=5, rank=1", "0") == "0 0 0");
  CHECK(faults("launch=5, rank=1") == "0 0 0");
}

TEST_CASE("a forked process reads its own environment") {
  const Outcome outcome = inChild({{"NULLGPU_FAULTS", "launch=5,rank=1"}, {"RANK", "0"}}, [](std::FILE* out) {
    const bool before = configuration().faults.launch.has_value();
    if (fork() == 0) {
      setenv("RANK", "1", 1);
      _exit(configuration().faults.launch.has_value());
    }
    int status = 0;
    wait(&status);
    std::fprintf(out, "%d %d", int(before), WEXITSTATUS(status));
  });
  CHECK(outcome.said == "0 1");
}
