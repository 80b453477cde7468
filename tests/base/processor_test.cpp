#include <cerrno>
#include <cstring>

#include <doctest/doctest.h>

#include <penstock/base/error_number.hpp>
#include <penstock/base/processor/processor.hpp>

namespace penstock::test::processor_test {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("what the processor is said to have is what GCC's library says") {
  CHECK(processor().sse42 == (__builtin_cpu_supports("sse4.2") != 0));
  CHECK(processor().pclmul == (__builtin_cpu_supports("pclmul") != 0));
  CHECK(processor().avx512f == (__builtin_cpu_supports("avx512f") != 0));
  CHECK(processor().avx512bw == (__builtin_cpu_supports("avx512bw") != 0));
  CHECK(processor().avx512vl == (__builtin_cpu_supports("avx512vl") != 0));
  CHECK(processor().vpclmulqdq == (__builtin_cpu_supports("vpclmulqdq") != 0));
}
#endif

TEST_CASE("error numbers have their names, and those without one are numbers") {
  for (const int number : {EPERM, ENOENT, EIO, EAGAIN, ENOMEM, EACCES, EFAULT, EBUSY, EINVAL, ENFILE, EMFILE, ENOSPC,
                           ENOSYS, EOPNOTSUPP}) {
    CAPTURE(number);
    CHECK(error_number_name(number) == strerrorname_np(number));
  }
  CHECK(error_number_name(4095) == "4095");
}

}  // namespace penstock::test::processor_test
