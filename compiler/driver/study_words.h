#pragma once

#include <string>
#include <vector>

namespace expc::driver {

/// The names of a study file that stand on command lines.
struct StudyWords {
  struct Setting {
    std::string name, meaning;
    std::vector<std::string> values;  // levels of a factor or an enum, as they are written
  };
  std::vector<std::string> studies, presets;
  std::vector<std::string> systems;  // that the file declares
  std::vector<Setting> settings;     // what -D can set: factors, parameters, settings of the design
};

/// Of the file at `path`, as far as it can be read; mistakes in it do not matter. `study` picks one, "" takes all.
StudyWords studyWords(const std::string& path, const std::string& study);

/// The workloads of a built-in module ("std.image") or a file.
std::vector<std::string> workloadWords(const std::string& module);

}  // namespace expc::driver
