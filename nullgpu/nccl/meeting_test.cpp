// Tests how ranks find each other, and that no file is left behind.

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <thread>

#include "nullgpu/tests/ranks.h"

using namespace nullgpu::nccl;

namespace {

/// The file in which the ranks of `id` meet.
std::string placeOf(const ncclUniqueId& id) {
  const char* path = strchr(id.internal, '/');
  REQUIRE(path);
  return path;
}

bool exists(const ncclUniqueId& id) { return access(placeOf(id).c_str(), F_OK) == 0; }

bool waitUntil(const std::function<bool()>& holds) {
  for (int i = 0; i < 20'000 && !holds(); ++i) usleep(1000);
  return holds();
}

void checkSum(ncclComm_t comm, cudaStream_t stream, int ranks) {
  const OnCard<int> one(std::vector<int>{1});
  require(ncclAllReduce(one.at(), one.at(), 1, ncclInt32, ncclSum, comm, stream), "ncclAllReduce");
  require(one.read(stream)[0] == ranks, "the sum of ones is the number of ranks");
}

}  // namespace

TEST_CASE("the version is the header's, and ids differ") {
  int version = 0;
  CHECK(ncclGetVersion(&version) == ncclSuccess);
  CHECK(version == NCCL_VERSION_CODE);
  ncclUniqueId first, second;
  REQUIRE(ncclGetUniqueId(&first) == ncclSuccess);
  REQUIRE(ncclGetUniqueId(&second) == ncclSuccess);
  CHECK(memcmp(&first, &second, sizeof(first)) != 0);
}

TEST_CASE("what a communicator says of itself") {
  checkRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    int count = 0, number = -1, card = -1;
    require(ncclCommCount(comm, &count), "ncclCommCount");
    require(ncclCommUserRank(comm, &number), "ncclCommUserRank");
    require(ncclCommCuDevice(comm, &card), "ncclCommCuDevice");
    require(count == 2 && number == rank.number && card == rank.number, "count, rank and card");
  });
}

TEST_CASE("the place is gone once all have met") {
  checkRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    require(!exists(rank.id), "gone");
    checkSum(comm, newStream(), 2);
    require(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST_CASE("what a killed rank leaves is removed by the next id") {
  ncclUniqueId id, next;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  const pid_t waiting = fork();
  if (waiting == 0) {
    ncclComm_t comm = nullptr;
    ncclCommInitRank(&comm, 2, id, 0);  // the other rank never comes
    _exit(1);
  }
  CHECK(waitUntil([&] { return exists(id); }));
  usleep(50'000);
  REQUIRE(ncclGetUniqueId(&next) == ncclSuccess);
  CHECK(exists(id));  // somebody is waiting there
  kill(waiting, SIGKILL);
  int status = 0;
  waitpid(waiting, &status, 0);
  REQUIRE(ncclGetUniqueId(&next) == ncclSuccess);
  CHECK(!exists(id));
}

TEST_CASE("two ranks on one card are refused") {
  for (const std::string& said : runRanks(2, [](const Rank& rank) {
         ncclComm_t comm = nullptr;
         require(ncclCommInitRank(&comm, rank.of, rank.id, rank.number), "on card 0");
       })) {
    CHECK(said.find("rank 0 and rank 1 of a communicator are both on card 0") != std::string::npos);
    CHECK(said.find("invalid usage") != std::string::npos);
  }
}

TEST_CASE("ranks that disagree on their number are refused") {
  for (const std::string& said : runRanks(2, [](const Rank& rank) {
         ncclComm_t comm = nullptr;
         require(ncclCommInitRank(&comm, rank.of + rank.number, rank.id, rank.number), "init");
       }))
    CHECK(said.find("disagree on their number: ") != std::string::npos);
}

TEST_CASE("a rank that comes twice is refused") {
  for (const std::string& said : runRanks(2, [](const Rank& rank) {
         ncclComm_t comm = nullptr;
         require(ncclCommInitRank(&comm, 3, rank.id, 1), "init");
       }))
    CHECK(said.find("rank 1 of a communicator of 3 came twice") != std::string::npos);
}

TEST_CASE("an id of another NCCL is refused") {
  checkRanks(1, [](const Rank&) {
    ncclUniqueId id{};
    ncclComm_t comm = nullptr;
    require(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument, "refused");
    require(std::string(ncclGetLastError(nullptr)).find("unique id") != std::string::npos, ncclGetLastError(nullptr));
  });
}

TEST_CASE("without blocking the state says when all have come") {
  checkRanks(2, [](const Rank& rank) {
    require(cudaSetDevice(rank.number), "cudaSetDevice");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (rank.number == 1) usleep(100'000);
    ncclComm_t comm = nullptr;
    require(ncclCommInitRankConfig(&comm, 2, rank.id, rank.number, &config) == ncclInProgress, "in progress");
    ncclResult_t state = ncclInProgress;
    require(waitUntil([&] { return ncclCommGetAsyncError(comm, &state) == ncclSuccess && state != ncclInProgress; }),
            "ready at last");
    require(state, "state");
    checkSum(comm, newStream(), 2);
    ncclCommFinalize(comm);
    require(waitUntil([&] { return ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclSuccess; }),
            "finalized");
    require(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST_CASE("one process serves all its cards") {
  checkRanks(1, [](const Rank&) {
    constexpr int kCards = 4;
    ncclComm_t comms[kCards];
    require(ncclCommInitAll(comms, kCards, nullptr), "ncclCommInitAll");
    std::vector<std::unique_ptr<OnCard<float>>> values;
    std::vector<cudaStream_t> streams;
    for (int card = 0; card < kCards; ++card) {
      require(cudaSetDevice(card), "cudaSetDevice");
      values.push_back(std::make_unique<OnCard<float>>(std::vector<float>(100'000, float(card))));
      streams.push_back(newStream());
    }
    require(cudaSetDevice(0), "cudaSetDevice");
    require(ncclGroupStart(), "ncclGroupStart");
    for (int card = 0; card < kCards; ++card)
      require(ncclAllReduce(values[card]->at(), values[card]->at(), 100'000, ncclFloat32, ncclSum, comms[card],
                            streams[card]),
              "ncclAllReduce");
    require(ncclGroupEnd(), "ncclGroupEnd");
    for (int card = 0; card < kCards; ++card)
      for (const float value : values[card]->read(streams[card])) require(value == 0 + 1 + 2 + 3, "sum");
    for (const ncclComm_t comm : comms) require(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST_CASE("threads serve a card each") {
  checkRanks(1, [](const Rank& rank) {
    std::vector<std::string> said(2);
    std::vector<std::thread> threads;
    for (int number = 0; number < 2; ++number)
      threads.emplace_back([&, number] {
        Rank own = rank;
        own.number = number;
        own.of = 2;
        try {
          const ncclComm_t comm = join(own);  // comes first, since it selects the stream's card
          checkSum(comm, newStream(), 2);
        } catch (const std::string& what) {
          said[number] = what;
        }
      });
    for (auto& thread : threads) thread.join();
    for (const auto& what : said) require(what.empty(), what);
  });
}
