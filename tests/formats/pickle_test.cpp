// Tests the pickle reader with bytes that Python 2 and 3 write, and with hostile ones. tests/python/test_pickles.py
// compares it with Python.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/text/pickle.hpp>
#include <penstock/error.hpp>

namespace penstock::test::pickle_test {
namespace {

using namespace std::string_literals;
using Kind = PickleValue::Kind;

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Error failure_of(const std::string& text) {
  try {
    const Pickle pickle(bytes_in(text));
  } catch (const Error& error) {
    return error;
  }
  FAIL("read ", text);
  throw;
}

// pickle.dumps({'data': numpy.uint8([[1, 2, 3], [4, 5, 6]]), 'labels': [6, -1]}, 2) of Python 2.7 with NumPy 1.16
const std::string kPython2 =
    "\x80\x02}q\x01(U\x04"
    "dataq\x02"
    "cnumpy.core.multiarray\n_reconstruct\nq\x03"
    "cnumpy\nndarray\nq\x04K\x00\x85U\x01"
    "b\x87Rq\x05(K\x01K\x02K\x03\x86"
    "cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x06"
    "\x01\x02\x03\x04\x05\x06tbU\x06labelsq\x08]q\x09(K\x06J\xff\xff\xff\xff"
    "eu."s;

}  // namespace

TEST_CASE("a dict of Python 2 has bytes as keys, and an array that is a part of the file") {
  const Pickle pickle(bytes_in(kPython2));
  const PickleValue root = pickle.root();
  REQUIRE(root.kind() == Kind::dict);
  REQUIRE(root.size() == 2);
  CHECK(root.key(0).kind() == Kind::bytes);
  CHECK(root.key(0).text() == "data");
  const PickleArray& array = root.value(0).array();
  CHECK(array.kind == 'u');
  CHECK(array.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(reinterpret_cast<const char*>(array.bytes.data()) == kPython2.data() + kPython2.find("\x01\x02\x03\x04"));
  CHECK(element_at(array, 4).integer == 5);
  CHECK(root.value(1).at(1).integer() == -1);
}

TEST_CASE("texts of Python 2 in protocol 0 are literals with escapes") {
  const std::string text = "(lp0\nS'it\\'s \\x00\\n\"'\np1\naS\"q\"\np2\naVh\\u00e9 \xe9\np3\naI01\naL5L\naF-1e3\na."s;
  const Pickle pickle(bytes_in(text));
  CHECK(pickle.root().at(0).text() == "it's \0\n\""s);
  CHECK(pickle.root().at(1).text() == "q");
  CHECK(pickle.root().at(2).text() == "h\u00e9 \u00e9");
  CHECK(pickle.root().at(3).kind() == Kind::boolean);
  CHECK(pickle.root().at(4).integer() == 5);
  CHECK(pickle.root().at(5).real() == -1000.0);
}

TEST_CASE("any other name is refused before anything could be called, with its module and offset") {
  for (const std::string& text :
       {"cos\nsystem\n(S'touch x'\ntR."s, "(S'touch x'\nios\nsystem\n."s, "\x80\x04\x8c\x02os\x8c\x06system\x93."s}) {
    const Error error = failure_of(text);
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(error.cause().find("\"os.system\", which is not plain data and is not loaded: load it in Python") !=
          std::string::npos);
    CHECK(error.context().offset.has_value());
  }
  CHECK(failure_of("cpandas.core.frame\nDataFrame\n."s).cause().find("to_csv()") != std::string::npos);
  CHECK(failure_of("c__builtin__\neval\n."s).cause().find("\"__builtin__.eval\"") != std::string::npos);
  CHECK(failure_of("cbuiltins\nint\n(S'1'\ntR."s).cause().find("arguments") != std::string::npos);
  CHECK(failure_of("]}b."s).cause().find("sets attributes") != std::string::npos);
  CHECK(failure_of("ccollections\nOrderedDict\n)\x81."s).cause().find("makes an object") != std::string::npos);
  CHECK(failure_of("Pid\n."s).cause().find("outside the file") != std::string::npos);
  CHECK(failure_of("\x82\x01."s).cause().find("extension registry") != std::string::npos);
  CHECK(failure_of("\x97."s).cause().find("buffer_callback") != std::string::npos);
}

TEST_CASE("hostile lengths, depths and repetitions are errors or cost what they weigh") {
  CHECK(failure_of("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x3f"s + "abc.").cause().find("more bytes") !=
        std::string::npos);
  CHECK(failure_of("]r\xff\xff\xff\xff."s).cause().find("memo 4,294,967,295") != std::string::npos);
  const std::string many(100'000, 'N');  // arguments of a dtype, which would be copied for each of many calls
  CHECK(failure_of("cnumpy\ndtype\n(S'u1'\n"s + many + "tR.").cause().find("100,001 arguments") != std::string::npos);
  CHECK(failure_of("]h\x05."s).cause().find("memo 5 is not set") != std::string::npos);
  CHECK(failure_of("\x95\xff\xff\xff\xff\xff\xff\xff\x7fN."s).cause().find("frame") != std::string::npos);
  CHECK(failure_of("\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01."s).cause().find("64 bits") != std::string::npos);
  CHECK(failure_of("NN."s).cause().find("2 values") != std::string::npos);
  CHECK(failure_of("N.N."s).cause().find("2 bytes follow") != std::string::npos);
  CHECK(failure_of("\x80\x06N."s).cause().find("protocol 6") != std::string::npos);
  CHECK(failure_of("\x1f\x8b\x08"s).cause().find("compressed") != std::string::npos);
  CHECK(failure_of("(a."s).cause().find("stack is empty") != std::string::npos);
  const Pickle deep(bytes_in("\x80\x04" + std::string(200'000, ']') + std::string(199'999, 'a') + "."));
  CHECK(deep.root().size() == 1);
  const Pickle endless(bytes_in("]\x94h\0a."s));
  CHECK(endless.root().at(0).at(0).at(0).size() == 1);
}

TEST_CASE("cuts and changed bytes are read or refused") {
  for (std::size_t size = 0; size < kPython2.size(); ++size)
    CHECK_THROWS_AS(Pickle(bytes_in(kPython2.substr(0, size))), Error);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::string text = kPython2;
    for (std::uint64_t changes = 1 + random() % 3; changes != 0; --changes)
      text[random() % text.size()] = static_cast<char>(random());
    try {
      const Pickle pickle(bytes_in(text));
      pickle.root().size();
    } catch (const Error&) {
    }
  }
}

}  // namespace penstock::test::pickle_test
