
#include "runtime/machine/sets.h"

#include <doctest/doctest.h>
#include <llvm/Support/Error.h>

#include <cstdlib>
#include <utility>

#include "runtime/base/json_record.h"
#include "runtime/machine/slots.h"

using namespace expc::machine;
using expc::base::written;

namespace {

using Sets = std::vector<AlikeSets::Set>;

/// A machine with these cards; `way` gives the path between two of their numbers.
template <typename Join>
Machine cards(const std::vector<std::string>& names, Join&& way) {
  Machine machine;
  for (unsigned i = 0; i < names.size(); ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.name = names[i];
    gpu.cores = {int(i)};
    for (unsigned other = 0; other < names.size(); ++other)
      if (other != i) gpu.ways[other] = way(i, other);
    machine.gpus.push_back(std::move(gpu));
    machine.allowed.push_back(int(i));
  }
  return machine;
}

/// Four cards on two sockets, two of each socket with NVLinks.
Machine pairs() {
  return cards({"A", "A", "A", "A"}, [](unsigned one, unsigned other) {
    return one / 2 == other / 2 ? Way{Way::Over::Switches, 4} : Way{Way::Over::System, 0};
  });
}

AlikeSets setsOf(const Machine& machine) { return {machine, llvm::cantFail(slots(machine))}; }

}  // namespace

TEST_CASE("sets of cards are those that are joined alike, the nearest first") {
  const AlikeSets sets = setsOf(pairs());
  CHECK(sets.of(1).size() == 4);
  CHECK(sets.of(2) == Sets{{0, 1}, {2, 3}});  // no set crosses the sockets, whatever the block's number
  CHECK(sets.of(2, 7) == AlikeSets::Set{2, 3});
  CHECK(sets.of(4) == Sets{{0, 1, 2, 3}});
  CHECK(sets.of(5).empty());
  CHECK(sets.choiceText(2) ==
        "trials on 2 of the 4 devices run on 0+1, 2+3, which are equally connected (other sets differ: 2 x A of 0 "
        "MiB, 1 cores [NV4])");
  CHECK(sets.choiceText(1).empty());
}

TEST_CASE("where every two cards are joined alike, sets rotate over all and use each as often") {
  const Machine machine = cards({"A", "A", "A", "A"}, [](unsigned, unsigned) { return Way{Way::Over::Node, 12}; });
  const Sets sets = setsOf(machine).of(2);
  REQUIRE(sets.size() == 6);
  CHECK(sets[0] == AlikeSets::Set{0, 1});
  CHECK(sets[1] == AlikeSets::Set{2, 3});
  std::vector<unsigned> used(4, 0);
  for (const auto& set : sets)
    for (const unsigned slot : set) ++used[slot];
  CHECK(used == std::vector<unsigned>{3, 3, 3, 3});
  CHECK(setsOf(machine).choiceText(2).empty());
}

TEST_CASE("cards of another name or with other cores are no set together unless nothing else is left") {
  Machine machine = cards({"A", "B", "A"}, [](unsigned, unsigned) { return Way{}; });
  CHECK(setsOf(machine).of(1) == Sets{{0}, {2}});
  CHECK(setsOf(machine).of(2) == Sets{{0, 2}});
  CHECK(setsOf(machine).of(3).size() == 1);
  machine.gpus[0].cores = {0, 1};
  CHECK(setsOf(machine).of(2) == Sets{{0, 2}});  // better than two of two names
}

TEST_CASE("lanes get sets that are disjoint and alike, from a kind that has so many") {
  const AlikeSets sets = setsOf(pairs());
  CHECK(sets.disjoint(1, 4) == Sets{{0}, {1}, {2}, {3}});
  CHECK(sets.disjoint(2, 2) == Sets{{0, 1}, {2, 3}});
  CHECK(sets.disjoint(2, 3).size() == 2);
  // Only two cards have links, so two lanes of two cards are alike only without them.
  const Machine one_pair = cards({"A", "A", "A", "A"}, [](unsigned one, unsigned other) {
    return one + other == 1 ? Way{Way::Over::Node, 4} : Way{Way::Over::Node, 0};
  });
  CHECK(setsOf(one_pair).of(2) == Sets{{0, 1}});
  CHECK(setsOf(one_pair).disjoint(2, 2) == Sets{{0, 2}, {1, 3}});
}

TEST_CASE("CPU slots are alike where they lie alike in memory nodes and sockets") {
  Machine machine;
  machine.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  machine.packages = {Package{{0, 1, 2, 3}}, Package{{4, 5, 6, 7}}};
  machine.nodes = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}};
  const AlikeSets sets(machine, llvm::cantFail(slots(machine, "4")));
  CHECK(sets.of(2) == Sets{{0, 1}, {2, 3}});
  const auto many = llvm::cantFail(slots(machine, "cpu:64"));
  CHECK(AlikeSets(machine, many).of(16).size() == 4);
  CHECK(AlikeSets(machine, many).of(1).size() == 64);
}

TEST_CASE("what NVML says of NVLinks and PCIe becomes ways, and part of the environment class") {
  setenv("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML, 1);
  setenv("NULLGPU_CARDS", "4", 1);
  const auto probed = [](const char* pairs) {
    pairs ? setenv("EXPC_FAKE_PAIRS", pairs, 1) : unsetenv("EXPC_FAKE_PAIRS");
    return probe();
  };
  const Machine linked = probed("nvlink"), switched = probed("switch"), unknown = probed(nullptr);
  unsetenv("NULLGPU_CARDS");
  unsetenv("EXPC_NVML_LIBRARY");
  REQUIRE(linked.gpus.size() == 4);
  CHECK((linked.gpus[0].ways.at(1) == Way{Way::Over::Switches, 4}));
  CHECK((linked.gpus[0].ways.at(2) == Way{Way::Over::System, 0}));
  CHECK(wayText(switched.gpus[3].ways.at(0)) == "NV4");
  const auto of = [](const Machine& machine) { return llvm::cantFail(slots(machine)); };
  CHECK(joinedText(linked, of(linked)) == "NV4,SYS,SYS;NV4,SYS,SYS;NV4,SYS,SYS;NV4,SYS,SYS");
  CHECK(environmentClass(linked, of(linked), nullptr) != environmentClass(switched, of(switched), nullptr));
  CHECK((*written(linked).getArray("gpus"))[0].getAsObject()->getObject("ways")->getString("1") == "NV4");
  CHECK(joinedText(unknown, of(unknown)).empty());
}
