// The end of a process while OpenSSL is in use.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <openssl/crypto.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/places/object_store_entry.hpp>
#include <penstock/error.hpp>

using namespace penstock;

namespace {

constexpr int kGone = 42, kLives = 43;

// The thread that speaks to servers.
bool lives() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "remote") return true;
  }
  return false;
}

[[noreturn]] void use_and_end() {
  ObjectStore& store = *penstock_remote_0_1_0();
  try {
    static_cast<void>(store.find("http://127.0.0.1:1/"));  // nobody listens there
  } catch (const Error&) {
  }
  if (!lives()) ::_exit(1);
  if (::OPENSSL_atexit([] { ::_exit(lives() ? kLives : kGone); }) != 1) ::_exit(2);
  std::exit(3);
}

}  // namespace

TEST_CASE("nobody speaks to servers any more when OpenSSL takes itself down") {
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) use_and_end();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kGone);
}
