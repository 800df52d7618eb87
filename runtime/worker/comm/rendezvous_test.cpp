#include <doctest/doctest.h>

#include <cstdlib>

#include "runtime/worker/comm/communicator.h"

using namespace expc::comm;

namespace {

struct Environment {
  Environment(const char* rank, const char* world, const char* local, const char* address, const char* port) {
    set("RANK", rank), set("WORLD_SIZE", world), set("LOCAL_RANK", local), set("MASTER_ADDR", address),
        set("MASTER_PORT", port);
  }
  ~Environment() {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "EXPC_COMM_TIMEOUT_S"})
      unsetenv(name);
  }
  static void set(const char* name, const char* value) { value ? setenv(name, value, 1) : unsetenv(name); }
};

std::string errorOf(llvm::Expected<Rendezvous> result) { return result ? "" : llvm::toString(result.takeError()); }

}  // namespace

TEST_CASE("a rank's place is read from the environment") {
  Environment environment("3", "4", "1", "node7", "29501");
  setenv("EXPC_COMM_TIMEOUT_S", "7", 1);
  auto result = rendezvousFromEnvironment();
  REQUIRE(bool(result));
  CHECK(result->rank == 3);
  CHECK(result->world_size == 4);
  CHECK(result->local_rank == 1);
  CHECK(result->master_address == "node7");
  CHECK(result->master_port == 29501);
  CHECK(result->timeout == std::chrono::seconds(7));
}

TEST_CASE("no variable at all means one rank alone") {
  Environment environment(nullptr, nullptr, nullptr, nullptr, nullptr);
  auto result = rendezvousFromEnvironment();
  REQUIRE(bool(result));
  CHECK(result->world_size == 1);
}

TEST_CASE("a variable that is missing or makes no sense is named") {
  {
    Environment e("2", "2", "0", "h", "1");
    CHECK(errorOf(rendezvousFromEnvironment()).find("RANK is '2', it must be a whole number from 0 to 1") !=
          std::string::npos);
  }
  {
    Environment e("0", nullptr, "0", "h", "1");
    CHECK(errorOf(rendezvousFromEnvironment()).find("WORLD_SIZE is not set") != std::string::npos);
  }
  {
    Environment e("0", "2", "0", "h", "70000");
    CHECK(errorOf(rendezvousFromEnvironment()).find("MASTER_PORT is '70000'") != std::string::npos);
  }
  {
    Environment e("0", "2", "0", "", "1");
    CHECK(errorOf(rendezvousFromEnvironment()).find("MASTER_ADDR is ''") != std::string::npos);
  }
  {
    Environment e("x", "2", "0", "h", "1");
    CHECK(errorOf(rendezvousFromEnvironment()).find("RANK is 'x'") != std::string::npos);
  }
}
