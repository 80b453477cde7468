#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/labels/labels.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::labels_test {
namespace {

using Strings = std::vector<std::string>;

Dataset with_keys(const Strings& keys) {
  IndexBuilder builder;
  for (const std::string& key : keys) builder.add_sample(key);
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(builder).finish(), .root = {}, .name = {}});
  return Dataset("images", "folder", std::move(shards), {}, false);
}

// Reads labels for samples "a", "b" and "c" from a file of that name and content.
Labels labels_from(const std::string& name, const std::string& content, const std::string& column = "",
                   const Strings& classes = {}, const Strings& keys = {"a", "b", "c"}) {
  const TemporaryFolder folder;
  write_file(folder / name, content);
  return read_labels((folder / name).string() + (column.empty() ? "" : ":" + column), with_keys(keys), classes);
}

Strings values_of(const Labels& labels) {
  Strings values;
  for (std::uint64_t i = 0; i < labels.ends.size(); ++i) values.push_back(text_of(labels.of(i)));
  return values;
}

std::vector<float> floats_of(const Labels& labels) {
  std::vector<float> values(labels.bytes.size() / sizeof(float));
  std::memcpy(values.data(), labels.bytes.data(), values.size() * sizeof(float));
  return values;
}

const FieldSchema kCls{.name = "cls", .codec = "cls"};

}  // namespace

TEST_CASE("class names are numbered in bytewise order, and matched with or without extension") {
  for (const auto& [name, content] : std::vector<std::pair<std::string, std::string>>{
           {"l.csv", "filename,label\r\nb.jpg,dog\r\n\"a.jpg\",\"cat, \"\"big\"\"\"\r\nc.png,dog\r\n"},
           {"l.csv", "\xEF\xBB\xBFlabel;image\ndog;b\n\"cat, \"\"big\"\"\";a\ndog;c\n"},
           {"l.tsv", "key\tclass\tother\na\tcat, \"big\"\t1\nb\tdog\t1\nc\tdog\t1"},
           {"l.txt", "b.jpg dog\n\na.jpg\tcat, \"big\"\n./c dog\n"},
           {"l.json", R"({"c": "dog", "b": "dog", "a": "cat, \"big\""})"},
           {"l.json",
            R"([{"id": "b", "label": "dog"}, {"id": "a", "label": "cat, \"big\""}, {"id": "c", "label": "dog"}])"},
           {"l.json", R"([["b", "dog"], ["a", "cat, \"big\""], ["c", "dog"]])"},
           {"l.json", R"({"path": ["b", "c", "a"], "label": ["dog", "dog", "cat, \"big\""]})"},
           {"l.json",
            R"({"label": {"0": "dog", "1": "dog", "2": "cat, \"big\""}, "image": {"0": "b", "1": "c", "2": "a"}})"},
           {"l.jsonl",
            "{\"file\": \"b\", \"label\": \"dog\"}\n{\"file\": \"c\", \"label\": \"dog\"}\r\n"
            "{\"file\": \"a\", \"label\": \"cat, \\\"big\\\"\"}"},
           {"l.pkl", "(dp0\nVb\nVdog\nsVa.png\nVcat, \"big\"\nsS'c'\nS'dog'\ns."}}) {
    CAPTURE(content);
    const Labels labels = labels_from(name, content);
    CHECK(labels.field == kCls);
    CHECK(labels.classes == Strings{"cat, \"big\"", "dog"});
    CHECK(values_of(labels) == Strings{"0", "1", "1"});
  }
}

TEST_CASE("names in a list may contain blanks, like the labels behind them") {
  const Strings keys{"my photo", "x/other one", "plain"};
  const auto values = [&](const std::string& content) {
    return values_of(labels_from("l.txt", content, "", {}, keys));
  };
  CHECK(values("my photo.jpg 3\nx/other one.jpg 4\nplain.jpg 5\n") == Strings{"3", "4", "5"});
  CHECK(values("\xEF\xBB\xBFmy photo 3\r\n./x/other one 4\r\nplain 5\r\n") == Strings{"3", "4", "5"});
  CHECK(values("my photo.jpg  3\nother one.jpg 4\nplain.jpg\t5\n") == Strings{"3", "4", "5"});
  const Labels words = labels_from("l.txt", "my photo.jpg big cat\nother one dog\nplain big cat\n", "", {}, keys);
  CHECK(words.classes == Strings{"big cat", "dog"});
  CHECK(values_of(words) == Strings{"0", "1", "0"});
  CHECK(values_of(labels_from("l.txt", "a 1\na b 2\n", "", {}, {"a", "a b"})) == Strings{"1", "2"});
  CHECK_THROWS_WITH_AS(values("my photos.jpg 3\nother one 4\nplain 5\n"), doctest::Contains("my photo"), Error);
}

TEST_CASE("whole numbers are class numbers, unless the classes have them as names") {
  const std::string content = "a 7\nb 0\nc 12\n";
  CHECK(values_of(labels_from("l.txt", content)) == Strings{"7", "0", "12"});
  CHECK(labels_from("l.txt", content).classes.empty());
  CHECK(values_of(labels_from("l.txt", content, "", {"12", "7", "0"})) == Strings{"1", "2", "0"});
  CHECK_THROWS_WITH_AS(labels_from("l.txt", content, "", {"x", "y"}), doctest::Contains("class number 7"), Error);
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1\nb 0\nc -1\n", "", {"x", "y"}), doctest::Contains("class number -1"),
                       Error);
}

TEST_CASE("whole numbers with a point, a sign or many digits are class numbers as well") {
  const Labels labels = labels_from("l.csv", "id,label\na,3.0\nb,-1\nc,1e3\n");
  CHECK(labels.field == FieldSchema{.name = "cls", .codec = "cls"});
  CHECK(values_of(labels) == Strings{"3", "-1", "1000"});
  CHECK(values_of(labels_from("l.txt", "a 5000000\nb 0\nc 9007199254740993\n")) ==
        Strings{"5000000", "0", "9007199254740993"});
  CHECK(labels_from("l.txt", "a 1e17\nb 0\nc 1\n").field.dtype == DType::f32);  // beyond float64's whole numbers
}

TEST_CASE("a number with leading zeros is a name, and a column with a name holds names") {
  const Labels labels = labels_from("l.csv", "id,label\na,007\nb,7\nc,0\n");
  CHECK(labels.classes == Strings{"0", "007", "7"});
  CHECK(values_of(labels) == Strings{"1", "2", "0"});
  CHECK(labels_from("l.csv", "id,label\na,1.5\nb,cat\nc,3.0\n").classes == Strings{"1.5", "3.0", "cat"});
}

TEST_CASE("given classes fix the numbers; a class they lack is an error that names it") {
  CHECK(values_of(labels_from("l.txt", "a dog\nb cat\nc dog\n", "", {"dog", "bird", "cat"})) == Strings{"0", "2", "0"});
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a dog\nb cow\nc dog\n", "", {"dog"}),
                       doctest::Contains("sample b: invalid argument: unknown class \"cow\""), Error);
}

TEST_CASE("numbers with a point become a float32 field named after the column") {
  const Labels labels = labels_from("l.csv", "id,Age (years),sex\na,1.5,m\nb,-2,f\nc,3,m\n", "Age (years)");
  CHECK(labels.field ==
        FieldSchema{.name = "age__years_", .codec = "raw", .dtype = DType::f32, .shape = {}, .fixed = true});
  CHECK(floats_of(labels) == std::vector<float>{1.5F, -2.0F, 3.0F});
}

TEST_CASE("equally long lists of numbers are vectors") {
  for (const auto& [name, content] :
       std::vector<std::pair<std::string, std::string>>{{"l.csv", "id,box\na,\"[1, 2.5]\"\nb,3 4\nc,5;6\n"},
                                                        {"l.txt", "a 1 2.5\nb 3 4\nc 5 6\n"},
                                                        {"l.json", R"({"a": [1, 2.5], "b": [3, 4], "c": [5, 6]})"}}) {
    CAPTURE(content);
    const Labels labels = labels_from(name, content);
    CHECK(labels.field.dtype == DType::f32);
    CHECK(labels.field.shape == Shape{2});
    CHECK(labels.field.name == (name == "l.csv" ? "box" : "label"));
    CHECK(floats_of(labels) == std::vector<float>{1, 2.5, 3, 4, 5, 6});
  }
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1 2.5\nb 3 4 5\nc 1 2\n"), doctest::Contains("different lengths"),
                       Error);
}

TEST_CASE("several classes at once are flags, one for each class") {
  const std::string zero(1, '\0'), one(1, '\1');
  for (const auto& [name, content] : std::vector<std::pair<std::string, std::string>>{
           {"l.csv", "id,tags\na,cat;dog\nb,\nc,dog\n"},
           {"l.csv", "id,tags\na,\"['dog', 'cat']\"\nb,[]\nc,[dog]\n"},
           {"l.json", R"({"a": ["cat", "dog"], "b": [], "c": ["dog"]})"}}) {
    CAPTURE(content);
    const Labels labels = labels_from(name, content);
    CHECK(labels.field.dtype == DType::u8);
    CHECK(labels.field.shape == Shape{2});
    CHECK(labels.classes == Strings{"cat", "dog"});
    CHECK(values_of(labels) == Strings{one + one, zero + zero, zero + one});
  }
  CHECK(values_of(labels_from("l.json", R"({"a": [2], "b": [], "c": [0, 1]})")) ==
        Strings{zero + zero + one, zero + zero + zero, one + one + zero});
  CHECK(values_of(labels_from("l.txt", "a 0 1\nb 1 1\nc 0 0\n")) == Strings{zero + one, one + one, zero + zero});
}

TEST_CASE("base names match where they are unique") {
  const Strings keys{"x/a", "x/b", "y/b"};
  const Labels labels = labels_from("l.txt", "a.jpg 1\nx/b.jpg 2\ny/b.jpg 3\n", "", {}, keys);
  CHECK(values_of(labels) == Strings{"1", "2", "3"});
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "x/a 1\nb.jpg 2\n", "", {}, keys), doctest::Contains("x/b, y/b"), Error);
}

TEST_CASE("samples without label, labels without sample and labels given twice are errors that name them") {
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1\n"), doctest::Contains("2 samples have no label: b, c"), Error);
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1\nb 1\nc 1\nd.jpg 1\n"),
                       doctest::Contains("1 labels have no sample: d.jpg"), Error);
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1\nb 1\nc 1\na 2\n"), doctest::Contains("two labels of a"), Error);
  CHECK_THROWS_WITH_AS(labels_from("l.txt", "a 1\nb 1\nc 1\na.jpg 2\n"), doctest::Contains("a.jpg"), Error);
}

TEST_CASE("a label file that is broken or leaves a choice open is an error that says so and names it") {
  const auto fails = [](const std::string& name, const std::string& content, const char* message,
                        const std::string& column = "") {
    CAPTURE(content);
    CHECK_THROWS_WITH_AS(labels_from(name, content, column), doctest::Contains(message), Error);
    CHECK_THROWS_WITH_AS(labels_from(name, content, column), doctest::Contains(name.c_str()), Error);
  };
  fails("l.csv", "id,x,y\na,1,2\n", "the columns are id, x, y");
  fails("l.csv", "id,x,y\na,1,2\n", "no column \"z\"", "z");
  fails("l.csv", "id,x\na,1,2\n", "line 2 has 3 columns");
  fails("l.csv", "id,x\na,\"1\n", "a quote is not closed");
  fails("l.csv", "id,x\na,\"1\"2\n", "after a closing quote");
  fails("l.csv", "id,x\na,\nb,1\nc,1\n", "the label is empty");
  fails("l.csv", "", "no header");
  fails("l.csv", "id,x\n", "contains no labels");
  fails("l.txt", "a\n", "no label after");
  fails("l.json", "{", "neither a JSON object nor a list");
  fails("l.json", R"({"a": {"x": 1, "y": 2}})", "the columns are key, x, y");
  fails("l.json", R"({"a": null, "b": 1, "c": 1})", "the label is empty");
  fails("l.json", R"({"a": [[1]], "b": [], "c": []})", "neither text nor a number");
  fails("l.json", "[1, 2]", "row 1 is neither an object nor a pair");
  fails("l.json", R"({"image": ["a", "b"], "label": [1]})", "column \"label\" has 1 values");
  fails("l.jsonl", "{\"id\": \"a\", \"x\": 1}\n\n{\n", "line 3 is not JSON");
  fails("l.pkl", "cos\nsystem\n(S'x'\ntR.", "offset 0: unsupported: pickle: needs \"os.system\"");
  CHECK_THROWS_WITH_AS(read_labels("/no/labels.csv", with_keys({"a"})), doctest::Contains("/no/labels.csv"), Error);
}

TEST_CASE("class names come from lines, JSON, or a dataset") {
  const TemporaryFolder folder;
  write_file(folder / "c.txt", "dog\r\n\ncat\n");
  write_file(folder / "list.json", R"(["dog", "cat"])");
  write_file(folder / "map.json", R"({"cat": 1, "dog": 0})");
  write_file(folder / "set/cat/1.jpg", "");
  write_file(folder / "set/dog/2.jpg", "");
  CHECK(read_classes(folder / "c.txt") == Strings{"dog", "cat"});
  CHECK(read_classes(folder / "list.json") == Strings{"dog", "cat"});
  CHECK(read_classes(folder / "map.json") == Strings{"dog", "cat"});
  CHECK(read_classes(folder / "set") == Strings{"cat", "dog"});

  write_file(folder / "twice.txt", "dog\ndog\n");
  write_file(folder / "gaps.json", R"({"cat": 2, "dog": 0})");
  write_file(folder / "wrong.json", "[1, 2]");
  write_file(folder / "flat/1.jpg", "");
  for (const char* name : {"twice.txt", "gaps.json", "wrong.json", "flat", "none.txt"}) {
    CHECK_THROWS_WITH_AS(read_classes(folder / name), doctest::Contains(name), Error);
  }
}

}  // namespace penstock::test::labels_test
