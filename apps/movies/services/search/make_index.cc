#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "index.h"
#include "words.h"

namespace movies {
namespace {

struct Film {
  Xapian::docid movie;
  std::string title;
  int year;
  std::string genre, director, plot;
};

int number(const std::string& text) {
  size_t used = 0;
  int value = std::stoi(text, &used);
  if (used != text.size() || value < 0) throw std::invalid_argument("`" + text + "` is not a number");
  return value;
}

Film parse_line(const std::string& line) {
  std::vector<std::string> fields(1);
  for (char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back().push_back(c);
    }
  }
  if (fields.size() != 6) throw std::invalid_argument("has " + std::to_string(fields.size()) + " fields, and takes 6");
  int movie = number(fields[0]);
  if (movie == 0) throw std::invalid_argument("has movie 0, and takes 1 or more");
  int year = fields[2].empty() ? 0 : number(fields[2]);
  return {static_cast<Xapian::docid>(movie), fields[1], year, fields[3], fields[4], fields[5]};
}

Xapian::Document to_document(const Film& film) {
  Xapian::Document document;
  Xapian::TermGenerator terms;
  terms.set_stemmer(Xapian::Stem("en"));
  terms.set_document(document);
  const std::string title = film.title + " " + numbers_of(film.title);
  terms.index_text_without_positions(fold(title), 1, "S");
  const std::string year = film.year == 0 ? "" : std::to_string(film.year);
  for (const std::string& text : {title, film.genre, film.director, film.plot, year}) terms.index_text_without_positions(fold(text));
  document.set_data(nlohmann::json({{"title", film.title}, {"year", film.year}}).dump());
  return document;
}

}  // namespace

size_t make_index(const std::string& catalogue, const std::string& folder) {
  std::ifstream lines(catalogue);
  if (!lines) throw std::runtime_error(catalogue + ": cannot be read");
  const std::string made = folder + ".new", old = folder + ".old";
  std::filesystem::remove_all(made);
  size_t films = 0;
  {
    Xapian::WritableDatabase database(made, Xapian::DB_CREATE);
    std::string line;
    for (size_t at = 1; std::getline(lines, line); at++) {
      try {
        Film film = parse_line(line);
        database.replace_document(film.movie, to_document(film));
        films++;
      } catch (const std::exception& error) {
        throw std::runtime_error(catalogue + ":" + std::to_string(at) + ": " + error.what());
      }
    }
    database.commit();
  }
  std::filesystem::remove_all(old);
  if (std::filesystem::exists(folder)) std::filesystem::rename(folder, old);
  std::filesystem::rename(made, folder);
  std::filesystem::remove_all(old);
  return films;
}

}  // namespace movies
