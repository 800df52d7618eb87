#include <doctest/doctest.h>

#include "compiler/check/model.h"

using namespace expc::check;

TEST_CASE("what is known of a machine is written and read back") {
  System system = System::unknown("local");
  system.set("gpus", Value::number(4));
  system.set("gpu.present", Value::boolean(true));
  system.set("gpu.name", Value::text("H100"));
  system.set("gpu.memory", Value::number(int64_t{94} << 30, Dimension::of(Dimension::Bytes)));
  const System back = systemFromJson("local", toJson(system));
  CHECK(back.name == "local");
  CHECK(back["gpus"]->asNumber()->toDouble() == 4);
  CHECK(back["gpu.present"]->asBool());
  CHECK(std::get<std::string>(back["gpu.name"]->node) == "H100");
  CHECK(back["gpu.memory"]->asNumber()->toDouble() == double(int64_t{94} << 30));
  CHECK_FALSE(back["sockets"]);
}

TEST_CASE("what makes no sense of a machine is not known of it") {
  const System back = systemFromJson("local", llvm::json::Object{{"gpus", -1},
                                                                 {"nodes", "four"},
                                                                 {"gpu.name", 7},
                                                                 {"gpu.present", 1},
                                                                 {"cores", 1.5},
                                                                 {"memory", INT64_MAX},
                                                                 {"wings", 2}});
  for (const auto& value : back.values) CHECK_FALSE(value);
}
