// Ranges that a profiler sees, where one is attached: tests/support/nvtx_recorder.cpp is, by the environment of this
// test.
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "support/device_loading.hpp"
#include "support/loading.hpp"

namespace penstock::test::profiler_ranges_test {

TEST_CASE("a profiler sees what the consumer, the workers, the program's own step and the copy do") {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  REQUIRE(path != nullptr);
  const Arrays data(64);
  {
    LoaderOptions options;
    options.batch_size = 8;
    options.workers = 2;
    options.transforms = {{"npy", array::decode()}};
    options.batch_transform = [](Batch&) {};
    options.device = "host";
    Loader loader(data.dataset(), options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (loader.next()) {
      }
    }
  }
  void* recorder = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);  // it is here already
  REQUIRE(recorder != nullptr);
  const auto function = [&]<typename Type>(const char* name) {
    return reinterpret_cast<Type>(::dlsym(recorder, name));
  };
  const auto recorded = function.operator()<int (*)(const char*)>("recorded");
  const auto still_open = function.operator()<int (*)()>("recorded_open");
  const auto domain = function.operator()<const char* (*)()>("recorded_domain");
  REQUIRE((recorded != nullptr && still_open != nullptr && domain != nullptr));
  CHECK(std::string(domain()) == "penstock");
  CHECK(recorded("next") == 2 * 9);
  CHECK(recorded("rows") >= 2 * 8);
  CHECK(recorded("custom_transform") >= 2 * 8);
  CHECK(recorded("copy") >= 2 * 8);
  CHECK(still_open() == 0);
  ::dlclose(recorder);
}

}  // namespace penstock::test::profiler_ranges_test
