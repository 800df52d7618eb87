#include "runtime/worker/io/durable_file.h"

#include <doctest/doctest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

namespace expc::io {
namespace {

struct Folder {
  llvm::SmallString<128> path;
  Folder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("expc-durable", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(const char* name) const { return (path + "/" + name).str(); }
  size_t entries() const {
    size_t count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator at(path, code), end; at != end && !code; at.increment(code)) ++count;
    return count;
  }
};

std::string contentOf(const std::string& path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "none";
}

std::string write(const std::string& path, llvm::StringRef text) {
  return llvm::toString(writeDurably(path, {llvm::arrayRefFromStringRef(text)}));
}

/// What `body` says in a process whose files can have at most `bytes`: the same path as a full disk.
template <typename Body>
std::string withSmallFiles(rlim_t bytes, Body body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = body();
    [[maybe_unused]] auto written = ::write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return said;
}

TEST_CASE("a file is replaced whole") {
  Folder folder;
  const std::string path = folder / "a";
  CHECK(write(path, "first").empty());
  CHECK(llvm::toString(
            writeDurably(path, {llvm::arrayRefFromStringRef("second "), {}, llvm::arrayRefFromStringRef("one")}))
            .empty());
  CHECK(contentOf(path) == "second one");
  CHECK(folder.entries() == 1);
  CHECK(write(folder / "none/a", "x") == folder / "none/a" + ": No such file or directory");
}

TEST_CASE("a disk that is full leaves what was there and says so") {
  Folder folder;
  const std::string path = folder / "a";
  REQUIRE(write(path, "before").empty());
  const std::string said = withSmallFiles(4096, [&] { return write(path, std::string(100'000, 'x')); });
  CHECK(said == path + ": File too large");
  CHECK(contentOf(path) == "before");
  CHECK(folder.entries() == 1);
}

TEST_CASE("moving replaces files, and folders only where there is none") {
  Folder folder;
  REQUIRE(write(folder / "a", "a").empty());
  REQUIRE(write(folder / "b", "b").empty());
  CHECK_FALSE(static_cast<bool>(moveDurably(folder / "a", folder / "b")));
  CHECK(contentOf(folder / "b") == "a");
  for (const char* name : {"one", "two"}) {
    REQUIRE_FALSE(llvm::sys::fs::create_directory(folder / name));
    REQUIRE(write(folder / name + "/x", name).empty());
  }
  CHECK(llvm::toString(moveDurably(folder / "one", folder / "two")).find("not empty") != std::string::npos);
  CHECK(contentOf(folder / "two/x") == "two");
  CHECK(llvm::toString(moveDurably(folder / "gone", folder / "c")).find("No such file") != std::string::npos);
}

TEST_CASE("the digest is BLAKE3's") {
  // Of nothing, and of "abc" in two parts: values of the reference implementation.
  CHECK(digestOf({}) == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  CHECK(digestOf({llvm::arrayRefFromStringRef("a"), llvm::arrayRefFromStringRef("bc")}) ==
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

}  // namespace
}  // namespace expc::io
