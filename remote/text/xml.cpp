#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include <penstock/base/error.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostLevels = 16;
constexpr std::size_t kMostElements = 200'000;

bool is_xml_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool ends_name(char c) {
  return is_xml_blank(c) || c == '/' || c == '>' || c == '=' || c == '<' || c == '&' || c == '"' || c == '\'';
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6);
    add(0x80 | (point & 63));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 63));
    add(0x80 | (point & 63));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 63));
    add(0x80 | (point >> 6 & 63));
    add(0x80 | (point & 63));
  }
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view text) : text_(text) {}

  XmlElement document() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    skip_between();
    XmlElement root = element(0);
    skip_between();
    if (at_ != text_.size()) fail("something stands behind its end");
    return root;
  }

 private:
  [[noreturn]] void fail(const char* why) const { throw Error::corrupt(std::string("XML: ") + why, {.offset = at_}); }

  bool take(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  std::string_view up_to(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) fail("it ends early");
    const std::string_view between = text_.substr(at_, found - at_);
    at_ = found + end.size();
    return between;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_xml_blank(text_[at_])) ++at_;
  }

  // White space, comments and instructions around the root.
  void skip_between() {
    while (true) {
      skip_blanks();
      if (take("<!--")) {
        up_to("-->");
      } else if (take("<?")) {
        up_to("?>");
      } else {
        return;
      }
    }
  }

  std::string_view qualified_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !ends_name(text_[at_])) ++at_;
    if (at_ == begin) fail("a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  void attributes() {
    while (true) {
      skip_blanks();
      if (at_ >= text_.size()) fail("it ends early");
      if (text_[at_] == '/' || text_[at_] == '>') return;
      qualified_name();
      skip_blanks();
      if (!take("=")) fail("an attribute has no value");
      skip_blanks();
      if (take("\"")) {
        up_to("\"");
      } else if (take("'")) {
        up_to("'");
      } else {
        fail("an attribute has no value");
      }
    }
  }

  void reference(std::string& text) {
    const std::string_view name = up_to(";");
    if (name == "amp") {
      text += '&';
    } else if (name == "lt") {
      text += '<';
    } else if (name == "gt") {
      text += '>';
    } else if (name == "quot") {
      text += '"';
    } else if (name == "apos") {
      text += '\'';
    } else if (name.starts_with('#')) {
      const bool hex = name.starts_with("#x");
      const std::string_view digits = name.substr(hex ? 2 : 1);
      std::uint32_t point = 0;
      const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), point, hex ? 16 : 10);
      if (problem != std::errc{} || end != digits.data() + digits.size() || point == 0 || point > 0x10FFFF ||
          (point >= 0xD800 && point < 0xE000))
        fail("a reference names no character");
      append_utf8(text, point);
    } else {
      fail("a reference is unknown");
    }
  }

  XmlElement element(std::size_t level) {
    if (level >= kMostLevels) fail("it is nested too deeply");
    if (++elements_ > kMostElements) fail("it has too many elements");
    if (!take("<")) fail("an element is missing");
    const std::string_view tag = qualified_name();
    const std::size_t prefix = tag.rfind(':');
    XmlElement made{std::string(prefix == std::string_view::npos ? tag : tag.substr(prefix + 1)), {}, {}};
    if (made.name.empty()) fail("a name is missing");
    attributes();
    if (take("/>")) return made;
    if (!take(">")) fail("a tag does not end");
    while (true) {
      if (at_ >= text_.size()) fail("it ends early");
      if (take("</")) {
        if (qualified_name() != tag) fail("a tag ends another element");
        skip_blanks();
        if (!take(">")) fail("a tag does not end");
        return made;
      }
      if (take("<!--")) {
        up_to("-->");
      } else if (take("<![CDATA[")) {
        made.text += up_to("]]>");
      } else if (take("<?")) {
        up_to("?>");
      } else if (take("&")) {
        reference(made.text);
      } else if (text_[at_] == '<') {
        made.children.push_back(element(level + 1));
      } else {
        const std::size_t end = std::min(text_.find_first_of("<&", at_), text_.size());
        made.text += text_.substr(at_, end - at_);
        at_ = end;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& element : children)
    if (element.name == wanted) return &element;
  return nullptr;
}

std::string_view XmlElement::text_of(std::string_view wanted) const {
  const XmlElement* const found = child(wanted);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

XmlElement parse_xml(std::string_view text) {
  return XmlParser(text).document();
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace penstock
