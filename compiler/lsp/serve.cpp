#include "compiler/lsp/serve.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "compiler/lsp/library.h"
#include "compiler/lsp/server.h"
#include "runtime/files/files.h"

namespace expc::lsp {
namespace {

bool waits(int input) {
  pollfd entry{input, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

/// What is there, waiting for it; 0 at the end.
size_t readSome(int input, char* buffer, size_t size) {
  for (;;) {
    const ssize_t count = ::read(input, buffer, size);
    if (count < 0 && errno == EINTR) continue;
    return count < 0 ? 0 : static_cast<size_t>(count);
  }
}

}  // namespace

int serve(int input, int output, const std::string& version) {
  bool gone = false;
  Server server(load::FileSystem::real(), libraryFolder(), version,
                [&](llvm::json::Value message) { gone = gone || files::writeAll(output, frame(message)) != 0; });
  Deframer deframer;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    // What waits is read before anything is done, so that a cancellation or the next key overtakes what is slow.
    if (waits(input)) {
      const size_t count = readSome(input, buffer.data(), buffer.size());
      if (count == 0) break;
      deframer.feed(std::string_view(buffer).substr(0, count));
      while (const auto item = deframer.next()) server.enqueue(*item);
      continue;
    }
    if (server.step()) {
      if (server.exitCode()) return *server.exitCode();
    } else if (!server.publishNext()) {
      pollfd entry{input, POLLIN, 0};
      if (::poll(&entry, 1, -1) < 0 && errno != EINTR) break;
    }
    if (gone) break;
  }
  // The client closed the stream: what it asked before is still answered, as far as it listens.
  while (!gone && server.step()) {
  }
  if (server.exitCode()) return *server.exitCode();
  return server.wasShutDown() ? 0 : 1;
}

}  // namespace expc::lsp
