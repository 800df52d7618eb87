#include <doctest/doctest.h>

#include <cstdlib>

#include "runtime/worker/device/device.h"

using expc::device::energyBetween, expc::device::nvmlEnergy;

TEST_CASE("energy is read where a driver has a counter for the device, and is nothing elsewhere") {
  setenv("EXPC_NVML_LIBRARY", "/nonexistent.so", 1);
  CHECK_FALSE(nvmlEnergy("0000:17:00.0")());
  setenv("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML, 1);
  const auto counted = nvmlEnergy("0000:17:00.0");
  const auto before = counted(), after = counted();
  REQUIRE(before);
  REQUIRE(after);
  CHECK(*after - *before == doctest::Approx(0.25));
  CHECK(energyBetween(before, after).value() == doctest::Approx(0.25));
  CHECK_FALSE(energyBetween(after, after));   // the counter did not move
  CHECK_FALSE(energyBetween(after, before));  // the driver was loaded anew
  CHECK_FALSE(energyBetween(before, std::nullopt));
  CHECK_FALSE(nvmlEnergy("0000:18:00.0")());  // a device without the counter
  CHECK_FALSE(nvmlEnergy("0000:99:00.0")());  // no such device
  unsetenv("EXPC_NVML_LIBRARY");
}
