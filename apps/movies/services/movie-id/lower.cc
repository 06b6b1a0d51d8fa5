#include "lower.h"

#include <locale.h>
#include <wctype.h>

#include <cstdint>
#include <stdexcept>

namespace movies {
namespace {

/** glibc's locale for Unicode, independent of the machine's language. */
locale_t unicode() {
  static locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!locale) throw std::runtime_error("the locale C.UTF-8 of glibc is missing");
  return locale;
}

constexpr uint32_t kBad = UINT32_MAX;

/** The next code point; `kBad` if malformed. Source: RFC 3629, 4. */
uint32_t decode(const std::string& text, size_t& at) {
  auto first = static_cast<uint8_t>(text[at++]);
  if (first < 0x80) return first;
  int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4) return kBad;
  uint32_t point = first & (0x3f >> more);
  for (; more > 0; more--) {
    if (at == text.size() || (text[at] & 0xc0) != 0x80) return kBad;
    point = point << 6 | (text[at++] & 0x3f);
  }
  return point;
}

void encode(std::string& out, uint32_t point) {
  auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (point >> shift & 0x3f))); };
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xc0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | point >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xf0 | point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::optional<std::string> to_lower(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t point = decode(text, at);
    if (point == kBad || point < 0x20 || point == 0x7f) return std::nullopt;
    encode(out, static_cast<uint32_t>(towlower_l(static_cast<wint_t>(point), unicode())));
  }
  return out;
}

}  // namespace movies
