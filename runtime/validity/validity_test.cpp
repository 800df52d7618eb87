#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "runtime/base/json_record.h"
#include "runtime/validity/doctor.h"
#include "runtime/validity/monitor.h"
#include "tests/support/folder.h"

using namespace expc;
using namespace expc::validity;

namespace {

/// A folder with the files of /proc and /sys that are read, for a machine with two cores.
class FakeMachine : public expc::test::TestFolder {
 public:
  FakeMachine() {
    cores({0, 0});
    write("/proc/vmstat", "nr_free_pages 7\npswpin 10\npswpout 20\npgmajfault 100\n");
    write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=7\n");
    write("/proc/loadavg", "1.25 1.00 0.50 2/300 4242\n");
    process(10, "engine", 0, 0, "11");
    process(11, "rank", 0, 0, "");
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::ofstream(path + file) << text;
  }
  /// Sets how many seconds each core has been busy since boot.
  void cores(const std::vector<int>& seconds) const {
    std::string text = "cpu  1 2 3 4 5 6 7 8 0 0\n";
    for (size_t core = 0; core < seconds.size(); ++core)
      text += "cpu" + std::to_string(core) + " " + std::to_string(100 * seconds[core]) + " 0 0 4000 50 60 70 0 0 0\n";
    write("/proc/stat", text + "intr 7\n");
  }
  void process(int pid, const std::string& name, int seconds, int core, const std::string& children,
               const std::string& state = "S") const {
    const std::string folder = "/proc/" + std::to_string(pid);
    std::string stat = std::to_string(pid) + " (" + name + ") " + state + " 1 1 1 0 -1 0 0 0 0 0 " +
                       std::to_string(100 * seconds) + " 0 0 0";
    for (int field = 18; field < 39; ++field) stat += " 0";
    write(folder + "/stat", stat + " " + std::to_string(core) + " 0 0\n");
    write(folder + "/comm", name + "\n");
    write(folder + "/task/" + std::to_string(pid) + "/children", children);
  }
  void clock(int core, int mhz) const {
    write("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq",
          std::to_string(mhz * 1000) + "\n");
  }
};

plan::Validity limits(std::map<std::string, double, std::less<>> limits) { return {3, std::move(limits)}; }

std::vector<std::string> names(const std::vector<Flag>& flags) {
  std::vector<std::string> found;
  for (const Flag& flag : flags) found.emplace_back(flag.limit);
  return found;
}

}  // namespace

TEST_CASE("what others take of a trial's cores is told, with who they are, and not what the trial takes itself") {
  const FakeMachine machine;
  Monitor monitor(Cards(""), 10, machine.path);
  monitor.begin(1, {0, 1}, {}, 0);
  machine.cores({8, 4});
  machine.process(11, "rank", 8, 0, "");
  machine.process(99, "cc1) plus", 4, 1, "", "R");
  const Readings readings = monitor.end(1, 10);
  CHECK(readings.seconds == 10);
  REQUIRE(readings.other_cpu);
  CHECK(*readings.other_cpu == doctest::Approx(0.2));
  CHECK(readings.busy_others == std::vector<std::string>{"99 (cc1) plus)"});
  CHECK(readings.load == 1.25);
  CHECK_FALSE(readings.mhz_most);  // this machine tells none
  CHECK(judge(readings, limits({})).empty());
  const std::vector<Flag> flags = judge(readings, limits({{"other_cpu", 0.05}}));
  REQUIRE(names(flags) == std::vector<std::string>{"other_cpu"});
  CHECK(disturbedText(flags) ==
        "disturbed: other processes used 20 % of the trial's cores (limit 5 %): 99 (cc1) plus)");
}

TEST_CASE("the processes of a trial are sampled at each look while they run") {
  const FakeMachine machine;
  machine.process(11, "rank", 0, 0, "12 13");
  machine.process(12, "python3", 0, 0, "");
  machine.process(13, "loader", 0, 0, "");
  machine.write("/proc/12/smaps_rollup", "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:  600 kB\n");
  machine.write("/proc/13/statm", "5000 100 50 1 0 400 0\n");
  Monitor monitor(Cards(""), 10, machine.path);
  monitor.begin(1, {0}, {}, 0);
  monitor.sample(1, 11);
  monitor.look(1);
  machine.process(11, "rank", 0, 0, "");
  const Samples samples = monitor.end(1, 2).samples;
  CHECK(samples.of("host_memory_sampled") == std::vector<double>{600 * 1024 + 100.0 * double(sysconf(_SC_PAGESIZE))});
  CHECK(samples.device.empty());
  Readings two;
  two.samples.host = {1, 2};
  Readings other;
  other.samples.host = {3};
  two.samples.served = {{"held", 1}}, other.samples.served = {{"held", 3}, {"kept", 2}};
  CHECK(together(two, other).samples.host == std::vector<double>{4, 2});
  CHECK(together(two, other).samples.served == std::map<std::string, double>{{"held", 3}, {"kept", 2}});
}

TEST_CASE(
    "what others take is not told of a trial that was too short to count, nor where processes hide their children") {
  const FakeMachine machine;
  Monitor monitor(Cards(""), 10, machine.path);
  monitor.begin(1, {0}, {}, 0);
  machine.cores({1, 0});
  CHECK_FALSE(monitor.end(1, 0.5).other_cpu);
  std::filesystem::remove(machine.path + "/proc/11/task/11/children");
  monitor.begin(2, {0}, {}, 1);
  machine.cores({9, 0});
  CHECK_FALSE(monitor.end(2, 9).other_cpu);
}

TEST_CASE("swap, pages that are read from a disk, pressure and clocks that fall disturb where the study limits them") {
  const FakeMachine machine;
  machine.clock(0, 3000);
  Monitor monitor(Cards(""), 10, machine.path);
  monitor.begin(1, {0}, {}, 0);
  CHECK_FALSE(monitor.isDue(0.5));
  CHECK(monitor.isDue(1));
  machine.clock(0, 1200);
  monitor.look(1);
  machine.clock(0, 3000);
  machine.write("/proc/vmstat", "pswpin 10\npswpout 1044\npgmajfault 150\n");
  machine.write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n");
  const Readings readings = monitor.end(1, 4);
  CHECK(readings.page_faults == 50);
  CHECK(*readings.swapped >= 1024 * 4096);
  CHECK(*readings.pressure == doctest::Approx(0.5));
  CHECK(*valueOf(readings, "clock_drop") == doctest::Approx(0.6));
  CHECK(judge(readings, {}).empty());
  CHECK(names(judge(readings, limits({{"swapped", 0}, {"page_faults", 49}, {"pressure", 0.4}, {"clock_drop", 0.1}}))) ==
        std::vector<std::string>{"clock_drop", "swapped", "page_faults", "pressure"});
  CHECK(judge(readings, limits({{"page_faults", 50}, {"pressure", 0.6}, {"clock_drop", 0.7}})).empty());
}

TEST_CASE("a card that is slowed down, that others use, or whose memory errs disturbs without a limit of the study") {
  Readings readings;
  GpuReadings gpu;
  gpu.index = 3;
  gpu.looks = 4;
  gpu.ecc_errors = 0;
  readings.gpus = {gpu};
  CHECK(judge(readings, {}).empty());
  readings.gpus[0].throttled = 1;
  readings.gpus[0].reasons = 0x48;
  CHECK(disturbedText(judge(readings, {})) ==
        "disturbed: GPU 3 was throttled in 25 % of the samples (hardware slowdown, heat, by the hardware)");
  CHECK(judge(readings, limits({{"throttled", 0.3}})).empty());
  readings.gpus = {gpu};
  readings.gpus[0].others = {"77 (python3)"};
  CHECK(disturbedText(judge(readings, {})) == "disturbed: other processes are on GPU 3: 77 (python3)");
  readings.gpus = {gpu};
  readings.gpus[0].ecc_errors = 2;
  CHECK(disturbedText(judge(readings, {})) == "disturbed: the memory of GPU 3 had 2 errors that it could not correct");
  readings.gpus = {gpu};
  readings.gpus[0].clock_most = 1980;
  readings.gpus[0].clock_least = 1200;
  CHECK(names(judge(readings, limits({{"clock_drop", 0.1}}))) == std::vector<std::string>{"clock_drop"});
}

namespace {

/// Sets the state that the fake NVML reports for every card, for its lifetime.
struct FakeCard {
  explicit FakeCard(const std::string& state) { set(state); }
  ~FakeCard() { unsetenv("EXPC_FAKE_CARD"); }
  void set(const std::string& state) const { setenv("EXPC_FAKE_CARD", state.c_str(), 1); }
};

}  // namespace

TEST_CASE("a card's clock that falls, its energy, its errors and who else is on it are seen during a trial") {
  const FakeMachine machine;
  const FakeCard card("1 300 5000 2");
  Monitor monitor(Cards(EXPC_FAKE_NVML), 10, machine.path);
  monitor.begin(1, {0}, {1}, 0);
  card.set("0 1980 6000 2 11");  // our rank
  monitor.look(1);
  card.set("0x44 1200 7500 3 11 4242");
  const Readings readings = monitor.end(1, 2);
  REQUIRE(readings.gpus.size() == 1);
  const GpuReadings& gpu = readings.gpus[0];
  CHECK(gpu.index == 1);
  CHECK(gpu.looks == 3);
  CHECK(gpu.throttled == 1);
  CHECK(gpu.reasons == 0x40);  // a limit of power that the owner set is none
  CHECK(gpu.clock_most == 1980);
  CHECK(gpu.clock_least == 1200);  // not what it idled at
  CHECK(gpu.joules == 2.5);
  CHECK(gpu.ecc_errors == 1);
  CHECK(gpu.others == std::vector<std::string>{"4242"});
  CHECK(names(judge(readings, limits({{"clock_drop", 0.1}}))) ==
        std::vector<std::string>{"other_gpu", "throttled", "clock_drop", "ecc_errors"});
}

TEST_CASE(
    "a card that names processes by numbers of another namespace has no others, but those that were there before") {
  const FakeMachine machine;
  const FakeCard card("0 1980 0 0");
  Monitor monitor(Cards(EXPC_FAKE_NVML), 10, machine.path);
  monitor.begin(1, {0}, {0}, 0);
  card.set("0 1980 0 0 900011");  // our rank, as its host calls it
  CHECK(monitor.end(1, 1).gpus.at(0).others.empty());
  card.set("0 1980 0 0 900077");
  monitor.begin(2, {0}, {0}, 2);
  card.set("0 1980 0 0 900077 900011");
  CHECK(monitor.end(2, 3).gpus.at(0).others == std::vector<std::string>{"900077"});
}

TEST_CASE("readings go through JSON, and what is not there stays absent") {
  Readings readings;
  readings.seconds = 2;
  readings.other_cpu = 0.25;
  readings.busy_others = {"1 (a)"};
  readings.page_faults = 7;
  GpuReadings gpu;
  gpu.index = 1;
  gpu.looks = 3;
  gpu.reasons = 0x20;
  gpu.clock_most = 1980;
  gpu.clock_least = 1700;
  gpu.joules = 12.5;
  gpu.others = {"9 (b)"};
  readings.gpus = {gpu};
  const auto read = [](llvm::json::Object object) { return base::readRecord<Readings>(std::move(object), "readings"); };
  CHECK(llvm::cantFail(read(base::written(readings))) == readings);
  auto refused = read(llvm::json::Object{{"seconds", "x"}, {"gpus", 7}, {"page_faults", -1}});
  REQUIRE(!refused);
  CHECK(llvm::toString(refused.takeError()).find("seconds") != std::string::npos);
}

TEST_CASE("what the processors took is known of a trial that ran alone") {
  const FakeMachine machine;
  const auto counters = [&](int first, int second) {
    machine.write("/sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(first * 1'000'000));
    machine.write("/sys/class/powercap/intel-rapl:0:0/energy_uj", "77");  // of the cores in it
    machine.write("/sys/class/powercap/intel-rapl:1/energy_uj", std::to_string(second * 1'000'000));
  };
  Monitor monitor(Cards(""), 10, machine.path);
  CHECK(!readEnergy(machine.path));
  counters(100, 10);
  monitor.begin(1, {0}, {}, 0);
  counters(103, 14);
  const Readings alone = monitor.end(1, 0.01);  // sooner than the rest of the machine is looked at again
  CHECK(alone.joules == 7);
  CHECK(energyOf(alone) == 7);
  monitor.begin(2, {0}, {}, 1);
  monitor.begin(3, {1}, {}, 2);
  counters(200, 20);
  CHECK(!monitor.end(2, 3).joules);
  CHECK(!monitor.end(3, 3).joules);
  monitor.begin(4, {0}, {}, 4);
  counters(1, 20);  // a counter has begun anew
  CHECK(!energyOf(monitor.end(4, 5)));
}

TEST_CASE("the energy of a trial on cards is theirs, where it is known of each") {
  Readings readings;
  readings.joules = 100;
  readings.gpus.resize(2);
  readings.gpus[0].joules = 5;
  CHECK(!energyOf(readings));
  readings.gpus[1].joules = 0;
  CHECK(energyOf(readings) == 5);
  readings.gpus[0].joules = 0;
  CHECK(!energyOf(readings));
}

TEST_CASE("the doctor names what spoils a measurement, and how to mend it") {
  const FakeMachine fake;
  fake.clock(0, 3000);
  fake.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  fake.write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  fake.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  fake.write("/sys/devices/system/cpu/smt/active", "1\n");
  fake.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  fake.write("/proc/meminfo", "MemTotal: 1 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n");
  machine::Machine machine;
  machine.allowed = {0, 1};
  machine.cpu_quota = 1.5;
  machine.memory_limit = 300 << 20;
  std::map<std::string, Finding> found;
  for (Finding& finding : examineHost(machine, fake.path)) found[finding.subject] = finding;
  for (const char* subject : {"governor", "clock source", "swap", "quota"}) {
    CAPTURE(subject);
    CHECK((found[subject].weight == Finding::Weight::Spoils));
    CHECK(!found[subject].mend.empty());
  }
  CHECK(found["memory limit"].what == "300 MiB (control group)");
  CHECK(found["governor"].what == "powersave of 1 cores");
  CHECK(found["swap"].what == "3 of 4 MiB in use");
  CHECK((found["turbo"].weight == Finding::Weight::Note));
  CHECK((found["smt"].weight == Finding::Weight::Note));
  CHECK((found["others"].weight == Finding::Weight::Fine));
}

TEST_CASE("the doctor says of a results folder whether it can be leased") {
  const FakeMachine fake;
  CHECK((examineFolder(fake.path + "/not/there/yet").front().weight == Finding::Weight::Fine));
  CHECK((examineFolder("/proc/nowhere").front().weight == Finding::Weight::Spoils));
}
