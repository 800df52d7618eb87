#pragma once

// Lines over TCP between an engine and its agents.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

namespace expc::engine {

/// One end of a connection; owns its descriptor. A peer that is gone (its machine, too) is found out within a minute.
class LineSocket {
 public:
  LineSocket() = default;
  explicit LineSocket(int fd);
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;
  ~LineSocket() { close(); }

  /// Tries addresses "HOST:PORT" in their order. The error names all of them.
  static llvm::Expected<LineSocket> connect(const std::vector<std::string>& addresses);

  int fd() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  void close();
  /// Whether the peer has not ended the connection. What it has sent stays to be received.
  bool hasPeer() const;
  /// Sends one line, and waits until it is on its way. False, and closed, where the peer is gone.
  bool send(const llvm::json::Object& message);
  /// The whole lines of what has come, without waiting. Closed after the end, or after a line longer than `longest`
  /// bytes.
  std::vector<std::string> receive(size_t longest = 64 << 20);
  /// The other end's address, a number.
  std::string peer() const;
  /// The network interface that it goes through; "" where that is the loopback, or not known.
  std::string interface() const;

 private:
  int fd_ = -1;
  std::string rest_;
};

/// Where connections are taken, on all addresses of this machine.
class Listener {
 public:
  static llvm::Expected<Listener> open();
  Listener(Listener&& other) noexcept;
  ~Listener();

  int fd() const { return fd_; }
  /// A connection that waits; one that is not open where none does.
  LineSocket accept();
  /// "HOST:PORT" for each address of this machine, those that other machines reach first.
  std::vector<std::string> addresses() const;

 private:
  explicit Listener(int fd, unsigned port) : fd_(fd), port_(port) {}
  int fd_ = -1;
  unsigned port_ = 0;
};

}  // namespace expc::engine
