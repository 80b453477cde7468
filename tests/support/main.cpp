// main() of every test program: doctest's, and an account of what was skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/skip.hpp"

namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

std::vector<std::pair<std::string, std::string>> skipped;  // case and reason
std::size_t cases_run = 0;

/// Notes the cases that say penstock::test::kSkipMark.
class SkipListener : public doctest::IReporter {
 public:
  explicit SkipListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    name_ = data.m_name;
    reason_.clear();
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    ++cases_run;
    if (!reason_.empty()) skipped.emplace_back(name_, reason_);
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData& message) override {
    const std::string text = message.m_string.c_str();
    const std::string_view mark = penstock::test::kSkipMark;
    const std::scoped_lock lock(mutex_);
    if (text.starts_with(mark) && reason_.empty()) reason_ = text.substr(mark.size());
  }
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::string name_;
  std::mutex mutex_;  // guards reason_: messages may come from a test's threads
  std::string reason_;
};

REGISTER_LISTENER("skips", 1, SkipListener);

// For tests/run.sh, which counts them by reason.
void keep_account() {
  const char* path = std::getenv("PENSTOCK_SKIPPED_CASES");
  if (path == nullptr) return;
  std::ofstream account(path, std::ios::trunc);
  for (const auto& [name, reason] : skipped) account << name << "\t" << reason << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (cases_run == 0) {
    std::cerr << "no test case fits the arguments\n";
    return 1;
  }
  keep_account();
  if (skipped.empty()) return result;
  std::cout << "[penstock] skipped " << skipped.size() << " of " << cases_run << " cases:\n";
  for (const auto& [name, reason] : skipped) std::cout << "[penstock]   " << name << ": " << reason << "\n";
  return result == 0 && skipped.size() == cases_run ? kSkipped : result;
}
