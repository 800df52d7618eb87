// Tests every collective with every type. Expected values are computed from the numbers of ranks
// and elements.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>

#include "nullgpu/tests/ranks.h"

using namespace nullgpu::nccl;

namespace {

/// `most` is the largest value in use, chosen so that results of four ranks are exact.
template <typename T>
struct Case {
  ncclDataType_t type;
  const char* name;
  int most = 4;
};

/// Element `i` of rank `rank`; ranks differ, and so do neighbours.
template <typename T>
double valueOf(const Case<T>& of, int rank, size_t i) {
  return 1 + int((i * 7 + size_t(rank) * 3) % size_t(of.most));
}

template <typename T>
T as(double value) {
  return static_cast<T>(float(value));
}
template <typename T>
double number(const T& value) {
  return double(float(value));
}

template <typename T>
std::vector<T> valuesOf(const Case<T>& of, int rank, size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(as<T>(valueOf(of, rank, i)));
  return values;
}

template <typename T>
double reduced(const Case<T>& of, const Rank& rank, ncclRedOp_t op, size_t i) {
  double result = valueOf(of, 0, i);
  for (int other = 1; other < rank.of; ++other) {
    const double value = valueOf(of, other, i);
    if (op == ncclSum || op == ncclAvg) result += value;
    if (op == ncclProd) result *= value;
    if (op == ncclMax) result = std::max(result, value);
    if (op == ncclMin) result = std::min(result, value);
  }
  if (op == ncclAvg) result /= rank.of;
  return number(as<T>(result));  // whole numbers have no quarters
}

struct End {
  const Rank& rank;
  ncclComm_t comm;
  cudaStream_t stream;
  /// A check to make once everything is queued.
  std::vector<std::function<void()>> checks;

  /// @param expected the expected value of each element
  template <typename T, typename Expected>
  void check(std::shared_ptr<OnCard<T>> values, const std::string& what, size_t first, size_t count,
             Expected expected) {
    checks.emplace_back([=, stream = stream] {
      const auto all = values->read(stream);
      for (size_t i = 0; i < count; ++i)
        if (const double value = number(all[first + i]); value != expected(i))
          throw what + ": element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
              std::to_string(expected(i));
    });
  }
  void checkAll() {
    for (const auto& each : checks) each();
    checks.clear();
  }
};

template <typename T>
std::shared_ptr<OnCard<T>> onCard(const std::vector<T>& values) {
  return std::make_shared<OnCard<T>>(values);
}
template <typename T>
std::shared_ptr<OnCard<T>> zeros(size_t count) {
  return onCard(std::vector<T>(count, as<T>(0)));
}

template <typename T>
void reductions(End& end, const Case<T>& of, ncclRedOp_t op, size_t count) {
  const Rank rank = end.rank;
  const auto parts = size_t(rank.of), mine = size_t(rank.number);
  const std::string name = std::to_string(count) + " x " + of.name + ", reduction " + std::to_string(op);
  const auto expected = [=](size_t i) { return reduced(of, rank, op, i); };
  const auto from = onCard(valuesOf(of, rank.number, count)), to = zeros<T>(count);
  require(ncclAllReduce(from->at(), to->at(), count, of.type, op, end.comm, end.stream), "ncclAllReduce");
  end.check(to, "all-reduce of " + name, 0, count, expected);
  end.check(from, "the source of " + name, 0, count, [=](size_t i) { return valueOf(of, rank.number, i); });
  const auto in_place = onCard(valuesOf(of, rank.number, count));
  require(ncclAllReduce(in_place->at(), in_place->at(), count, of.type, op, end.comm, end.stream), "ncclAllReduce");
  end.check(in_place, "all-reduce in place of " + name, 0, count, expected);

  const auto whole = onCard(valuesOf(of, rank.number, count * parts)), part = zeros<T>(count);
  const auto share = [=](size_t i) { return reduced(of, rank, op, mine * count + i); };
  require(ncclReduceScatter(whole->at(), part->at(), count, of.type, op, end.comm, end.stream), "ncclReduceScatter");
  end.check(part, "reduce-scatter of " + name, 0, count, share);
  require(ncclReduceScatter(whole->at(), whole->at(mine * count), count, of.type, op, end.comm, end.stream),
          "ncclReduceScatter");
  end.check(whole, "reduce-scatter in place of " + name, mine * count, count, share);

  const int root = rank.of - 1;
  const auto source = onCard(valuesOf(of, rank.number, count)), at_root = zeros<T>(count);
  require(ncclReduce(source->at(), rank.number == root ? at_root->at() : nullptr, count, of.type, op, root, end.comm,
                     end.stream),
          "ncclReduce");
  end.check(at_root, "reduce of " + name, 0, count, [=](size_t i) { return rank.number == root ? expected(i) : 0; });
}

template <typename T>
void broadcasts(End& end, const Case<T>& of, int root, size_t count) {
  const Rank rank = end.rank;
  const std::string name = std::to_string(count) + " x " + of.name;
  const auto expected = [=](size_t i) { return valueOf(of, root, i); };
  const auto from = onCard(valuesOf(of, rank.number, count)), to = zeros<T>(count);
  require(
      ncclBroadcast(rank.number == root ? from->at() : nullptr, to->at(), count, of.type, root, end.comm, end.stream),
      "ncclBroadcast");
  end.check(to, "broadcast of " + name, 0, count, expected);
  require(ncclBcast(from->at(), count, of.type, root, end.comm, end.stream), "ncclBcast");
  end.check(from, "broadcast in place of " + name, 0, count, expected);
}

template <typename T>
void gathers(End& end, const Case<T>& of, size_t count) {
  const Rank rank = end.rank;
  const auto parts = size_t(rank.of), mine = size_t(rank.number);
  const std::string name = std::to_string(count) + " x " + of.name;
  const auto gathered = [=](size_t i) { return valueOf(of, int(i / count), i % count); };
  const auto one = onCard(valuesOf(of, rank.number, count)), all = zeros<T>(count * parts);
  require(ncclAllGather(one->at(), all->at(), count, of.type, end.comm, end.stream), "ncclAllGather");
  end.check(all, "all-gather of " + name, 0, count * parts, gathered);
  std::vector<T> placed(count * parts, as<T>(0));
  std::ranges::copy(valuesOf(of, rank.number, count), placed.begin() + static_cast<std::ptrdiff_t>(mine * count));
  const auto in_place = onCard(placed);
  require(ncclAllGather(in_place->at(mine * count), in_place->at(), count, of.type, end.comm, end.stream),
          "ncclAllGather");
  end.check(in_place, "all-gather in place of " + name, 0, count * parts, gathered);

  const auto out = onCard(valuesOf(of, rank.number, count * parts)), in = zeros<T>(count * parts);
  require(ncclAlltoAll(out->at(), in->at(), count, of.type, end.comm, end.stream), "ncclAlltoAll");
  end.check(in, "all-to-all of " + name, 0, count * parts,
            [=](size_t i) { return valueOf(of, int(i / count), mine * count + i % count); });
}

/// Queues all collectives, then checks their results.
template <typename T>
void allOf(End& end, const Case<T>& of, const std::vector<size_t>& counts = {7}) {
  for (const size_t count : counts) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) reductions(end, of, op, count);
    for (int root = 0; root < end.rank.of; ++root) broadcasts(end, of, root, count);
    gathers(end, of, count);
  }
  end.checkAll();
}

void everyType(const Rank& rank) {
  End end{rank, join(rank), newStream(), {}};
  allOf(end, Case<int8_t>{ncclInt8, "int8"});
  allOf(end, Case<uint8_t>{ncclUint8, "uint8"});
  allOf(end, Case<int32_t>{ncclInt32, "int32"});
  allOf(end, Case<uint32_t>{ncclUint32, "uint32"});
  allOf(end, Case<int64_t>{ncclInt64, "int64"});
  allOf(end, Case<uint64_t>{ncclUint64, "uint64"});
  allOf(end, Case<__half>{ncclFloat16, "float16"});
  allOf(end, Case<float>{ncclFloat32, "float32"}, {0, 1, 7, 70'003});  // the last in many chunks
  allOf(end, Case<double>{ncclFloat64, "float64"});
  allOf(end, Case<__nv_bfloat16>{ncclBfloat16, "bfloat16"}, {1, 7, 150'001});
  allOf(end, Case<__nv_fp8_e4m3>{ncclFloat8e4m3, "float8e4m3", 2});
  allOf(end, Case<__nv_fp8_e5m2>{ncclFloat8e5m2, "float8e5m2", 2});
  require(ncclCommDestroy(end.comm), "ncclCommDestroy");
}

}  // namespace

TEST_CASE("collectives among 1 rank") { checkRanks(1, everyType); }
TEST_CASE("collectives among 2 ranks") { checkRanks(2, everyType); }
TEST_CASE("collectives among 4 ranks") { checkRanks(4, everyType); }

TEST_CASE("values of 16 bits are added up in 32") {
  checkRanks(4, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    // Added one by one, each quarter would be lost: neighbours of 64 in bf16 are half a unit away.
    const OnCard<__nv_bfloat16> values({as<__nv_bfloat16>(rank.number == 0 ? 64 : 0.25)});
    require(ncclAllReduce(values.at(), values.at(), 1, ncclBfloat16, ncclSum, comm, stream), "ncclAllReduce");
    require(number(values.read(stream)[0]) == 65, "sum");
  });
}

TEST_CASE("a sum of what is multiplied") {
  checkRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    const OnCard<float> values({4, 6}), factor({0.5});
    float half = 0.5;
    ncclRedOp_t of_host{}, of_card{};
    require(ncclRedOpCreatePreMulSum(&of_host, &half, ncclFloat32, ncclScalarHostImmediate, comm), "of the host");
    require(ncclRedOpCreatePreMulSum(&of_card, factor.at(), ncclFloat32, ncclScalarDevice, comm), "of the card");
    half = 0;
    for (const ncclRedOp_t op : {of_host, of_card})
      require(ncclAllReduce(values.at(), values.at(), 2, ncclFloat32, op, comm, stream), "ncclAllReduce");
    require(values.read(stream) == std::vector<float>{4, 6}, "average");
    require(ncclRedOpDestroy(of_host, comm), "ncclRedOpDestroy");
    require(ncclAllReduce(values.at(), values.at(), 2, ncclFloat32, of_host, comm, stream) == ncclInvalidArgument,
            "a reduction that is gone is refused");
  });
}
