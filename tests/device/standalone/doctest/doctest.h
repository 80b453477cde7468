// In the place of doctest, on machines that do not have it: the part that tests of the device layer use.
#pragma once

#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace standalone {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};
inline void check(bool good, const char* file, int line, const char* what) {
  if (good) return;
  ++failures();
  std::cout << file << ":" << line << ": FAILED: " << what << "\n";
}

}  // namespace standalone

#define STANDALONE_JOIN_(a, b) a##b
#define STANDALONE_JOIN(a, b) STANDALONE_JOIN_(a, b)
#define STANDALONE_CASE(name, function)                                                     \
  static void function();                                                                   \
  static const standalone::Register STANDALONE_JOIN(function, _registered)(name, function); \
  static void function()
#define TEST_CASE(name) STANDALONE_CASE(name, STANDALONE_JOIN(test_case_, __LINE__))
#define CHECK(...) standalone::check(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define CHECK_FALSE(...) standalone::check(!static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, "not " #__VA_ARGS__)
#define CHECK_THROWS_AS(expression, type)                                         \
  do {                                                                            \
    bool thrown_ = false;                                                         \
    try {                                                                         \
      static_cast<void>(expression);                                              \
    } catch (const type&) {                                                       \
      thrown_ = true;                                                             \
    }                                                                             \
    standalone::check(thrown_, __FILE__, __LINE__, #expression " throws " #type); \
  } while (false)
#define CHECK_THROWS_WITH(expression, text)                                                 \
  do {                                                                                      \
    std::string thrown_;                                                                    \
    try {                                                                                   \
      static_cast<void>(expression);                                                        \
    } catch (const std::exception& error) {                                                 \
      thrown_ = error.what();                                                               \
    }                                                                                       \
    standalone::check(thrown_ == (text), __FILE__, __LINE__, #expression " throws " #text); \
  } while (false)
#define MESSAGE(...)                       \
  do {                                     \
    std::ostringstream text_;              \
    text_ << __VA_ARGS__;                  \
    std::cout << text_.str() << std::endl; \
  } while (false)
