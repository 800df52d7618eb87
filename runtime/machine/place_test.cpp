#include <doctest/doctest.h>
#include <llvm/Support/Error.h>

#include <utility>

#include "runtime/machine/machine.h"
#include "runtime/machine/slots.h"

using namespace expc::machine;

namespace {

/// A machine with two sockets of four cores and two memory nodes each.
Machine twoSockets() {
  Machine machine;
  machine.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  machine.packages = {Package{{0, 1, 2, 3}}, Package{{4, 5, 6, 7}}};
  machine.nodes = {{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}};
  machine.sockets = 2;
  return machine;
}

Slot slotOn(std::vector<int> cores) {
  Slot slot;
  slot.cores = std::move(cores);
  return slot;
}

}  // namespace

TEST_CASE("near is the slot's own cores and their memory") {
  const auto slot = placed(twoSockets(), slotOn({2, 3}), Placement::Near);
  REQUIRE(slot.has_value());
  CHECK(slot->cores == std::vector<int>{2, 3});
  CHECK(slot->memory_nodes == std::vector<int>{1});
  CHECK(slot->threads == 2);
  CHECK(placed(twoSockets(), slotOn({0, 1, 2, 3}), Placement::Near)->memory_nodes == std::vector<int>{0, 1});
}

TEST_CASE("any binds nothing and keeps the number of threads") {
  const auto slot = placed(twoSockets(), slotOn({2, 3}), Placement::Any);
  REQUIRE(slot.has_value());
  CHECK(slot->cores.empty());
  CHECK(slot->memory_nodes.empty());
  CHECK(slot->threads == 2);
  const auto json = slot->toJson();
  CHECK(json.getInteger("threads") == 2);
}

TEST_CASE("far is the same places of the next socket and their memory") {
  const Machine machine = twoSockets();
  const auto first = placed(machine, slotOn({0, 1}), Placement::Far),
             second = placed(machine, slotOn({2, 3}), Placement::Far);
  REQUIRE(first.has_value());
  CHECK(first->cores == std::vector<int>{4, 5});
  CHECK(first->memory_nodes == std::vector<int>{2});
  CHECK(second->cores == std::vector<int>{6, 7});
  CHECK(placed(machine, slotOn({6}), Placement::Far)->cores == std::vector<int>{2});
}

TEST_CASE("far needs another socket, and a slot that is on one") {
  Machine one = twoSockets();
  one.packages.pop_back();
  CHECK_FALSE(placed(one, slotOn({0}), Placement::Far).has_value());
  CHECK_FALSE(placed(twoSockets(), slotOn({3, 4}), Placement::Far).has_value());
  CHECK_FALSE(placed(Machine{}, slotOn({0}), Placement::Far).has_value());  // nothing is known
  CHECK(placed(Machine{}, slotOn({0}), Placement::Near)->memory_nodes.empty());
}

TEST_CASE("this machine's sockets and nodes hold its cores") {
  const Machine machine = probe();
  REQUIRE(!machine.packages.empty());
  REQUIRE(!machine.nodes.empty());
  size_t cores = 0;
  for (const Package& package : machine.packages) cores += package.cores.size();
  CHECK(cores == machine.allowed.size());
  const auto near = placed(machine, llvm::cantFail(slots(machine)).front(), Placement::Near);
  REQUIRE(near.has_value());
  CHECK(!near->memory_nodes.empty());
}
