#include "runtime/worker/profile/activity.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace expc::profile;
using doctest::Approx;

namespace {

constexpr uint64_t kMs = 1'000'000;

Activity call(std::string_view name, uint64_t begin, uint64_t end) {
  return {Activity::Kind::Call, name, {}, begin, end, 0, 0};
}
Activity kernel(std::string_view name, uint64_t begin, uint64_t end) {
  return {Activity::Kind::Kernel, name, {}, begin, end, 0, 0};
}
Activity copy(Direction direction, uint64_t begin, uint64_t end, uint64_t bytes) {
  return {Activity::Kind::Copy, "", direction, begin, end, bytes, 0};
}

constexpr std::string_view kAllReduce =
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

}  // namespace

TEST_CASE("kernels belong to families by their names") {
  CHECK(familyOf(kAllReduce) == Family::AllReduce);
  CHECK(familyOf("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)") == Family::AllGather);
  CHECK(familyOf("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL") == Family::ReduceScatter);
  CHECK(familyOf("ncclDevKernel_Broadcast_RING_LL") == Family::Broadcast);
  CHECK(familyOf("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)") ==
        Family::AllReduce);
  CHECK(familyOf("ncclDevKernel_Reduce_Sum_f32_RING_LL") == Family::OtherNccl);
  CHECK(familyOf("ncclDevKernel_SendRecv") == Family::OtherNccl);
  CHECK(familyOf("ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymkDevWorkArgs4K)") == Family::AllReduce);
  CHECK(familyOf("ncclSymDevKernel_AllGather_STMC") == Family::AllGather);
  CHECK(familyOf("reference::nccl_copy<Kernel_1>()") == Family::Compute);
  CHECK(familyOf("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float>>") ==
        Family::Compute);
  CHECK(familyOf("") == Family::Compute);
  CHECK(familyOf("my_ncclAllReduce") == Family::Compute);
}

TEST_CASE("names lose their versions, types and arguments") {
  CHECK(std::string(callName("cudaLaunchKernel_v7000")) == "cudaLaunchKernel");
  CHECK(std::string(callName("cudaLaunchKernel_ptsz_v7000")) == "cudaLaunchKernel");
  CHECK(std::string(callName("cudaMemcpyAsync")) == "cudaMemcpyAsync");
  CHECK(std::string(callName("cudaGetDeviceProperties_v2_v12000")) == "cudaGetDeviceProperties_v2");
  CHECK(std::string(callName("_v")) == "_v");
  CHECK(std::string(callName("")) == "");
  CHECK(kernelName("void at::native::vectorized_elementwise_kernel<4, (anonymous namespace)::F>(int, F)") ==
        "at::native::vectorized_elementwise_kernel");
  CHECK(kernelName("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float>(int)") ==
        "at::native::conv_depthwise2d_forward_kernel");
  CHECK(kernelName(kAllReduce) == "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  CHECK(kernelName("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32") ==
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32");
  CHECK(kernelName("<>") == "<>");
  CHECK(kernelName("") == "");
}

TEST_CASE("records become totals by call, family and direction") {
  ActivitySum sum;
  sum.add(call("cudaLaunchKernel_v7000", 0 * kMs + 1, 1 * kMs + 1));
  sum.add(call("cudaLaunchKernel_ptsz_v7000", 2 * kMs, 4 * kMs));
  sum.add(call("cudaLaunchKernelExC_v11060", 4 * kMs, 5 * kMs));
  sum.add(call("cudaStreamSynchronize_v3020", 5 * kMs, 9 * kMs));
  sum.add(kernel("void add<float>(float*)", 2 * kMs, 5 * kMs));
  sum.add(kernel("void add<double>(double*)", 5 * kMs, 6 * kMs));
  sum.add(kernel(kAllReduce, 4 * kMs, 8 * kMs));  // runs beside the others
  sum.add(copy(Direction::HostToDevice, 10 * kMs, 11 * kMs, 1000));
  sum.add(copy(Direction::HostToDevice, 11 * kMs, 12 * kMs, 500));
  sum.add(copy(Direction::DeviceToHost, 13 * kMs, 14 * kMs, 8));
  sum.add({Activity::Kind::Fill, "", {}, 15 * kMs, 16 * kMs, 64, 0});
  const ActivityTotals totals = sum.take(1 * kMs, 20 * kMs);

  CHECK(totals.calls.size() == 3);
  CHECK(totals.callsThatBegin("cudaLaunchKernel").seconds == Approx(0.004));
  CHECK(totals.callsThatBegin("cudaLaunchKernel").count == 3);
  CHECK(totals.callsThatBegin("cudaEventDestroy").count == 0);
  CHECK(totals.callsThatBegin("").seconds == Approx(0.008));
  CHECK(totals.families[size_t(Family::Compute)].seconds == Approx(0.004));
  CHECK(totals.kernels.at("add").count == 2);
  CHECK(totals.nccl().seconds == Approx(0.004));
  CHECK(totals.copies[size_t(Direction::HostToDevice)].bytes == 1500);
  CHECK(totals.copies[size_t(Direction::DeviceToHost)].count == 1);
  CHECK(totals.fills.bytes == 64);
  CHECK(totals.busy_seconds == Approx(0.006 + 0.002 + 0.001 + 0.001));
  CHECK(totals.untimed + totals.malformed == 0);

  Amounts breakdown;
  addActivity(breakdown, totals, 0.019);
  CHECK(breakdown.at("device.idle").seconds == Approx(0.009));
  CHECK(breakdown.at("device.NCCL all-reduce").count == 1);
  CHECK(breakdown.at("api.cudaStreamSynchronize").seconds == Approx(0.004));
  CHECK(breakdown.at("kernel.add").seconds == Approx(0.004));
  CHECK(breakdown.count("device.copy DtoD") == 0);  // no such activity was seen

  // The busy time of two devices is their mean.
  Activity there = kernel("add", 1 * kMs, 2 * kMs);
  there.device = 1;
  sum.add(there);
  sum.add(kernel("add", 1 * kMs, 4 * kMs));
  CHECK(sum.take(0, 9 * kMs).busy_seconds == Approx(0.002));

  // A second take() starts from nothing.
  const ActivityTotals after = sum.take(0, 1);
  CHECK(after.calls.empty());
  CHECK(after.busy_seconds == 0);
}

TEST_CASE("records that make no sense are left out and counted") {
  ActivitySum sum;
  sum.add(kernel("a", 5 * kMs, 4 * kMs));
  sum.add(copy(Direction::DeviceToDevice, 1, 0, 100));
  sum.add(kernel("b", 0, 0));  // CUPTI had no memory for its times
  sum.add(kernel("b", 3 * kMs, 3 * kMs));
  const ActivityTotals totals = sum.take(0, 10 * kMs);
  CHECK(totals.malformed == 2);
  CHECK(totals.untimed == 1);
  CHECK(totals.kernels.size() == 1);
  CHECK(totals.kernels.at("b").count == 2);
  CHECK(totals.copies[size_t(Direction::DeviceToDevice)].bytes == 0);
  CHECK(totals.busy_seconds == 0);
}

TEST_CASE("busy time is the union, whatever the order and number of intervals") {
  BusyTime busy;
  busy.add(10, 20);
  busy.add(15, 25);
  busy.add(30, 40);
  busy.add(12, 14);
  busy.add(40, 40);
  busy.add(25, 30);  // joins two intervals
  CHECK(busy.within(0, 100) == 30);
  CHECK(busy.within(20, 35) == 15);
  CHECK(busy.within(41, 50) == 0);
  CHECK(busy.within(50, 10) == 0);

  // More intervals than are kept apart at once, shuffled, checked against a count of the covered
  // units.
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, uint64_t>> all;
  std::vector<bool> covered(1 << 20);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t begin = random() % ((1 << 20) - 8), end = begin + random() % 8;
    all.emplace_back(begin, end);
    for (uint64_t at = begin; at < end; ++at) covered[at] = true;
  }
  BusyTime many;
  for (const auto& [begin, end] : all) many.add(begin, end);
  CHECK(many.within(0, 1 << 20) == uint64_t(std::count(covered.begin(), covered.end(), true)));
}

TEST_CASE("a breakdown keeps the largest names, travels as text and becomes a mean") {
  Amounts names;
  for (int i = 0; i < 10; ++i) names["op" + std::to_string(i)] = {1.0 * i, 2, 0};
  Amounts breakdown;
  addView(breakdown, "operator", names, 3);
  CHECK(breakdown.size() == 3);
  CHECK(breakdown.at("operator.op9").seconds == 9);
  CHECK(breakdown.at("operator.op8").seconds == 8);
  CHECK(breakdown.at("operator.others").seconds == 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7);
  CHECK(breakdown.at("operator.others").count == 16);

  names.clear();
  names["odd \"name\" \xff"] = {0.1, 1, 3};
  Amounts odd;
  addView(odd, "kernel", names);
  const Amounts back = fromText(toText(odd));
  REQUIRE(back.size() == 1);
  CHECK(back.begin()->second.seconds == 0.1);
  CHECK(fromText("no JSON").empty());
  CHECK(fromText("[1]").empty());
  CHECK(fromText("{\"a\":[1,2]}").empty());

  const Amounts mean = meanOf({{{"step.load", {1, 10, 0}}, {"step.copy", {2, 10, 4}}}, {{"step.load", {3, 10, 0}}}});
  CHECK(mean.at("step.load").seconds == 2);
  CHECK(mean.at("step.load").count == 10);
  CHECK(mean.at("step.copy").seconds == 1);
  CHECK(meanOf({}).empty());

  llvm::json::Object series;
  addSeries(series, mean);
  CHECK(*series.getArray("profile.step.copy") == llvm::json::Array{1.0, 5.0, 2.0});
}
