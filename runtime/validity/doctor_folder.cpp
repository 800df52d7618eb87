#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/validity/doctor.h"

namespace expc::validity {
namespace {

namespace fs = std::filesystem;
using Weight = Finding::Weight;

/// The folder, or the nearest one above it that exists.
fs::path existing(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder, error);
  while (!fs::is_directory(at, error) && at.has_relative_path()) at = at.parent_path();
  return at;
}

/// What a results folder needs: a file that is made, linked under a second name, which is how its lease is taken, and
/// locked. Says what does not work; "" where all does.
std::string tryFolder(const fs::path& folder) {
  std::string file = (folder / "expc-doctor-XXXXXX").string();
  const int fd = mkstemp(file.data());
  if (fd < 0) return fmt::format("no file can be made in it ({})", std::strerror(errno));
  const std::string second = file + ".link";
  std::string trouble;
  if (link(file.c_str(), second.c_str()) != 0)
    trouble = fmt::format("no file in it can have two names ({})", std::strerror(errno));
  else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    trouble = fmt::format("no file in it can be locked ({})", std::strerror(errno));
  close(fd);
  unlink(second.c_str());
  unlink(file.c_str());
  return trouble;
}

}  // namespace

std::vector<Finding> examineFolder(const std::string& folder) {
  const fs::path at = existing(folder);
  if (const std::string trouble = tryFolder(at); !trouble.empty())
    return {{Weight::Spoils, "results", fmt::format("{}: {}", at.string(), trouble),
             "nothing can be measured into it, since nobody could keep a second run out",
             "choose another folder with --results"}};
  return {{Weight::Fine, "results", fmt::format("{} can be written and leased", at.string()), "", ""}};
}

}  // namespace expc::validity
