#include "words.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <sstream>
#include <xapian.h>

namespace movies {
namespace {

struct Letters {
  uint32_t first, last;
  const char* as;
};

/**
 * Letters with accents, ligatures, and others that people type otherwise. Xapian ignores the case. Source: the names of Unicode's
 * Latin-1 Supplement and Latin Extended-A.
 */
constexpr Letters kLetters[] = {
    {0xc0, 0xc5, "a"},    {0xc6, 0xc6, "ae"},   {0xc7, 0xc7, "c"},    {0xc8, 0xcb, "e"},    {0xcc, 0xcf, "i"},    {0xd0, 0xd0, "d"},
    {0xd1, 0xd1, "n"},    {0xd2, 0xd6, "o"},    {0xd8, 0xd8, "o"},    {0xd9, 0xdc, "u"},    {0xdd, 0xdd, "y"},    {0xde, 0xde, "th"},
    {0xdf, 0xdf, "ss"},   {0xe0, 0xe5, "a"},    {0xe6, 0xe6, "ae"},   {0xe7, 0xe7, "c"},    {0xe8, 0xeb, "e"},    {0xec, 0xef, "i"},
    {0xf0, 0xf0, "d"},    {0xf1, 0xf1, "n"},    {0xf2, 0xf6, "o"},    {0xf8, 0xf8, "o"},    {0xf9, 0xfc, "u"},    {0xfd, 0xfd, "y"},
    {0xfe, 0xfe, "th"},   {0xff, 0xff, "y"},    {0x100, 0x105, "a"},  {0x106, 0x10d, "c"},  {0x10e, 0x111, "d"},  {0x112, 0x11b, "e"},
    {0x11c, 0x123, "g"},  {0x124, 0x127, "h"},  {0x128, 0x131, "i"},  {0x132, 0x133, "ij"}, {0x134, 0x135, "j"},  {0x136, 0x138, "k"},
    {0x139, 0x142, "l"},  {0x143, 0x14b, "n"},  {0x14c, 0x151, "o"},  {0x152, 0x153, "oe"}, {0x154, 0x159, "r"},  {0x15a, 0x161, "s"},
    {0x162, 0x167, "t"},  {0x168, 0x173, "u"},  {0x174, 0x175, "w"},  {0x176, 0x178, "y"},  {0x179, 0x17e, "z"},  {0x17f, 0x17f, "s"},
};

/** Accents that follow their letter. */
bool is_combining(uint32_t point) { return point >= 0x300 && point <= 0x36f; }

bool is_apostrophe(uint32_t point) {
  return point == '\'' || point == '`' || point == 0xb4 || point == 0x2bc || point == 0x2018 || point == 0x2019;
}

/** From 2 on: one `I` is the word. */
constexpr std::array<const char*, 19> kRoman = {"II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI",
                                                "XII", "XIII", "XIV", "XV", "XVI", "XVII", "XVIII", "XIX", "XX"};

}  // namespace

std::string fold(const std::string& text) {
  std::string out;
  for (Xapian::Utf8Iterator at(text); at != Xapian::Utf8Iterator(); ++at) {
    uint32_t point = *at;
    if (is_combining(point) || is_apostrophe(point)) continue;
    const char* as = point == '&' ? " and " : nullptr;
    for (const Letters& letters : kLetters) {
      if (point >= letters.first && point <= letters.last) as = letters.as;
    }
    if (as) {
      out += as;
    } else {
      Xapian::Unicode::append_utf8(out, point);
    }
  }
  return out;
}

std::string numbers_of(const std::string& title) {
  std::string spaced = title, out;
  for (char& c : spaced) {
    if (!isalnum(static_cast<unsigned char>(c))) c = ' ';
  }
  std::istringstream words(spaced);
  for (std::string word; words >> word;) {
    for (size_t at = 0; at < kRoman.size(); at++) {
      std::string digits = std::to_string(at + 2);
      if (word == kRoman[at]) out += digits + " ";
      if (word == digits) out += std::string(kRoman[at]) + " ";
    }
  }
  return out;
}

}  // namespace movies
