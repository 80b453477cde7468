#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <expat.h>

#include <penstock/error.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostLevels = 16;
constexpr std::size_t kMostElements = 200'000;

/// Builds the tree from expat's callbacks. No exception passes through expat: an error stops the parser instead.
class TreeBuilder {
 public:
  TreeBuilder() {
    if (parser_ == nullptr) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* tag, const XML_Char**) { of(self).call(&TreeBuilder::begin, tag); },
        [](void* self, const XML_Char*) { of(self).call(&TreeBuilder::end, {}); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int length) {
      of(self).call(&TreeBuilder::add, std::string_view(text, static_cast<std::size_t>(length)));
    });
    XML_SetStartDoctypeDeclHandler(parser_.get(), [](void* self, const XML_Char*, const XML_Char*, const XML_Char*,
                                                     int) { of(self).refuse("it has a document type"); });
  }

  XmlElement parse(std::string_view text) {
    if (text.size() > std::numeric_limits<int>::max()) throw Error::corrupt("XML: it is longer than 2 GiB");
    const bool sound = XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), 1) == XML_STATUS_OK;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (why_ != nullptr) throw error(why_);
    if (!sound) throw error(XML_GetErrorCode(parser_.get()));
    return std::move(root_.children.front());
  }

 private:
  static TreeBuilder& of(void* self) { return *static_cast<TreeBuilder*>(self); }

  // A stopped parser still reports the end of an empty element.
  void call(void (TreeBuilder::*step)(std::string_view), std::string_view text) noexcept {
    if (why_ != nullptr || failure_ != nullptr) return;
    try {
      (this->*step)(text);
    } catch (...) {
      failure_ = std::current_exception();
      XML_StopParser(parser_.get(), XML_FALSE);
    }
  }

  void refuse(const char* why) {
    why_ = why;
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  Error error(const char* why) const {
    const XML_Index at = XML_GetCurrentByteIndex(parser_.get());  // negative if nothing was read
    return Error::corrupt(std::string("XML: ") + why,
                          {.offset = static_cast<std::uint64_t>(std::max<XML_Index>(at, 0))});
  }
  Error error(XML_Error code) const {
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    return error(XML_ErrorString(code));
  }

  void begin(std::string_view tag) {
    if (levels_.size() > kMostLevels) return refuse("it is nested too deeply");
    if (++elements_ > kMostElements) return refuse("it has too many elements");
    tag.remove_prefix(tag.rfind(':') + 1);  // npos + 1 is 0
    if (tag.empty()) return refuse("a name is missing");
    levels_.push_back(&levels_.back()->children.emplace_back(XmlElement{std::string(tag), {}, {}}));
  }
  void add(std::string_view text) { levels_.back()->text += text; }
  void end(std::string_view) { levels_.pop_back(); }

  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  // Always UTF-8; the encoding that the text declares is ignored.
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_{XML_ParserCreate("UTF-8")};
  XmlElement root_;                          // its child is the document's root
  std::vector<XmlElement*> levels_{&root_};  // open elements
  std::size_t elements_ = 0;
  const char* why_ = nullptr;
  std::exception_ptr failure_;
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
  return TreeBuilder().parse(text);
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
