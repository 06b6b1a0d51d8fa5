#include "index.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "failure.h"
#include "words.h"

namespace movies {
namespace {

using nlohmann::json;

/** Prefix of words of titles. Source: Xapian's omega/docs/termprefixes.rst. */
constexpr const char* kTitlePrefix = "S";
/** A word in a title tells more of a film than one in its plot. Ours; a title that is the query must come first. */
constexpr double kTitleWeight = 3;
constexpr const char* kLanguage = "en";
/** Words that tell no film from another. Source: the commonest of Snowball's list for English. */
constexpr const char* kStopWords[] = {"a",  "an", "and", "are", "as", "at", "be", "by",   "for", "from", "has", "he",   "in",
                                      "is", "it", "its", "of",  "on", "or", "she", "that", "the", "they", "to",  "was", "with"};
/** Words that the last one may be the beginning of; the commonest count. Ours: as many as a page of ten has words. */
constexpr Xapian::termcount kMostCompletions = 100;

Hit to_hit(const Xapian::Document& document, double weight) {
  json data = json::parse(document.get_data());
  Hit hit;
  hit.movie = document.get_docid();
  hit.title = data.at("title").get<std::string>();
  hit.year = data.at("year").get<int32_t>();
  hit.weight = weight;
  return hit;
}

Xapian::Query parse(const std::string& text, const Xapian::Database& database, bool stops) {
  static const Xapian::SimpleStopper kStopper(std::begin(kStopWords), std::end(kStopWords));
  Xapian::QueryParser parser;
  parser.set_stemmer(Xapian::Stem(kLanguage));
  parser.set_stemming_strategy(Xapian::QueryParser::STEM_SOME);
  parser.set_default_op(Xapian::Query::OP_OR);
  parser.set_database(database);
  parser.set_max_expansion(kMostCompletions, Xapian::Query::WILDCARD_LIMIT_MOST_FREQUENT, Xapian::QueryParser::FLAG_PARTIAL);
  if (stops) parser.set_stopper(&kStopper);
  // The last word may be one that is still typed. Without operators no text is wrong.
  const unsigned flags = Xapian::QueryParser::FLAG_PARTIAL;
  Xapian::Query words = parser.parse_query(text, flags);
  // A title may consist of such words: "It".
  if (words.empty() && stops) return parse(text, database, false);
  Xapian::Query title = parser.parse_query(text, flags, kTitlePrefix);
  return Xapian::Query(Xapian::Query::OP_AND_MAYBE, words, Xapian::Query(Xapian::Query::OP_SCALE_WEIGHT, title, kTitleWeight));
}

/** Xapian's exceptions are not `std::exception`s. */
template <class Ask>
auto guarded(Ask ask) {
  try {
    return ask();
  } catch (const Xapian::Error& error) {
    throw chassis::Unavailable("index: " + error.get_description());
  }
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

Index::Index(std::string folder) : folder_(std::move(folder)) {
  // Open one now, so that a missing index is reported at the start.
  idle_.push_back(guarded([this] { return std::make_unique<Xapian::Database>(folder_); }));
}

template <class Ask>
auto Index::with_database(Ask ask) {
  Database database;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      database = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  auto answer = guarded([&] {
    if (!database) database = std::make_unique<Xapian::Database>(folder_);
    return ask(*database);
  });
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(database));
  return answer;
}

Hits Index::find(const std::string& query, uint32_t start, uint32_t n) {
  return with_database([&](Xapian::Database& database) {
    Xapian::Enquire enquire(database);
    enquire.set_docid_order(Xapian::Enquire::ASCENDING);
    if (is_blank(query)) {
      enquire.set_query(Xapian::Query::MatchAll);
      enquire.set_weighting_scheme(Xapian::BoolWeight());
    } else {
      enquire.set_query(parse(fold(query), database, true));
      enquire.set_weighting_scheme(Xapian::BM25Weight());
    }
    Hits hits;
    Xapian::MSet found = enquire.get_mset(start, n);
    for (auto at = found.begin(); at != found.end(); ++at) hits.hits.push_back(to_hit(at.get_document(), at.get_weight()));
    hits.all = found.get_matches_estimated();
    return hits;
  });
}

std::vector<Hit> Index::titles(const std::vector<MovieId>& movies) {
  return with_database([&](Xapian::Database& database) {
    std::vector<Hit> hits;
    for (MovieId movie : movies) {
      if (movie < 1 || movie > database.get_lastdocid()) continue;
      try {
        hits.push_back(to_hit(database.get_document(static_cast<Xapian::docid>(movie)), 0));
      } catch (const Xapian::DocNotFoundError&) {
      }
    }
    return hits;
  });
}

}  // namespace movies
