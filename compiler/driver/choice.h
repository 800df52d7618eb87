#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace expc::driver {

/// An option that takes one of a few words. Help and errors list them in the order given, and completion finds them.
template <typename T>
CLI::Option* addChoice(CLI::App& command, const std::string& name, T& value,
                       const std::vector<std::pair<std::string, T>>& choices, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) words.push_back(word);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices](const std::string& given) {
            for (const auto& [word, meaning] : choices)
              if (word == given) value = meaning;
          },
          help)
      ->check(CLI::IsMember(words));
}

}  // namespace expc::driver
