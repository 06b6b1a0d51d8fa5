#include "search/index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "failure.h"

namespace movies {
namespace {

/** A folder with a catalogue and the index of it. */
class IndexTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/movies-cpp-index-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& lines) {
    std::ofstream(folder_ + "/catalogue.tsv") << lines;
    return folder_ + "/catalogue.tsv";
  }

  std::string index() const { return folder_ + "/index"; }

  static std::vector<MovieId> movies_of(const std::vector<Hit>& hits) {
    std::vector<MovieId> movies;
    for (const Hit& hit : hits) movies.push_back(hit.movie);
    return movies;
  }

  std::string folder_;
};

const char* kFilms =
    "1\tThe Godfather\t1972\tDrama\tFrancis Ford Coppola\tA family runs its affairs in New York.\n"
    "2\tAlien\t1979\tHorror\tRidley Scott\tA ship answers a call.\n"
    "3\tShips\t2001\tDrama\t\tOf sailing and an alien.\n"
    "5\tAmélie\t\tComedy\tJean-Pierre Jeunet\tShe helps others running from their lives.\n";

}  // namespace

TEST_F(IndexTest, FindsStemsAndPutsTitlesFirst) {
  EXPECT_EQ(make_index(write(kFilms), index()), 4u);
  Index films(index());
  EXPECT_EQ(movies_of(films.find("alien", 0, 10).hits), (std::vector<MovieId>{2, 3}));
  EXPECT_EQ(movies_of(films.find("ship", 0, 10).hits), (std::vector<MovieId>{3, 2}));
  EXPECT_EQ(movies_of(films.find("running", 0, 1).hits).size(), 1u);
  EXPECT_EQ(films.find("running", 0, 10).all, 2);
  EXPECT_EQ(movies_of(films.find("AMÉLIE", 0, 10).hits), (std::vector<MovieId>{5}));
  EXPECT_EQ(movies_of(films.find("coppola", 0, 10).hits), (std::vector<MovieId>{1}));
  EXPECT_TRUE(films.find("zzz", 0, 10).hits.empty());
}

TEST_F(IndexTest, FindsWhatPeopleType) {
  const char* films_of_many_words =
      "1\tThe Godfather Part II\t1974\tDrama\tFrancis Ford Coppola\tThe early life of a father.\n"
      "2\tOcean's Eleven\t2001\tCrime\tSteven Soderbergh\tA thief plans to rob casinos.\n"
      "3\tAmélie\t2001\tComedy\tJean-Pierre Jeunet\tShe helps others.\n"
      "4\tIt\t2017\tHorror\tAndy Muschietti\tA clown comes from the sewers.\n"
      "5\tThelma & Louise\t1991\tDrama\tRidley Scott\tTwo friends drive.\n"
      "6\tRocky 3\t1982\tDrama\tSylvester Stallone\tA champion trains.\n";
  make_index(write(films_of_many_words), index());
  Index films(index());
  struct Case {
    std::string query;
    MovieId first;
  };
  for (const auto& [query, first] : std::vector<Case>{{"godf", 1},
                                                       {"the godfather 2", 1},
                                                       {"rocky III", 6},
                                                       {"oceans eleven", 2},
                                                       {"ocean’s elev", 2},
                                                       {"amelie", 3},
                                                       {"Ame\xcc\x81lie", 3},
                                                       {"it", 4},
                                                       {"thelma and lou", 5},
                                                       {"Thelma&Louise", 5},
                                                       {"soderb", 2},
                                                       {"comedy 2001", 3},
                                                       {"1991", 5}}) {
    auto hits = movies_of(films.find(query, 0, 10).hits);
    ASSERT_FALSE(hits.empty()) << query;
    EXPECT_EQ(hits[0], first) << query;
  }
  // Words that each film has find no film by themselves.
  EXPECT_EQ(movies_of(films.find("the life of ", 0, 10).hits), (std::vector<MovieId>{1}));
}

TEST_F(IndexTest, ShowsAllByRankWithoutWords) {
  make_index(write(kFilms), index());
  Index films(index());
  Hits hits = films.find(" ", 1, 2);
  EXPECT_EQ(movies_of(hits.hits), (std::vector<MovieId>{2, 3}));
  EXPECT_EQ(hits.all, 4);
  EXPECT_EQ(hits.hits[0].title, "Alien");
  EXPECT_EQ(hits.hits[0].year, 1979);
}

TEST_F(IndexTest, TakesAnyText) {
  make_index(write(kFilms), index());
  Index films(index());
  for (const std::string& text : std::vector<std::string>{"AND OR (", "\"", "title:", "+-*", "\xff\xfe", "a NEAR/3 b", std::string(256, 'x')}) {
    EXPECT_NO_THROW(films.find(text, 0, 100)) << text;
  }
}

TEST_F(IndexTest, GivesTitlesInTheOrderThatWasAskedFor) {
  make_index(write(kFilms), index());
  Index films(index());
  EXPECT_EQ(movies_of(films.titles({5, 4, 1, -1, int64_t{1} << 40, 1})), (std::vector<MovieId>{5, 1, 1}));
}

TEST_F(IndexTest, ServesManyThreadsAtOnce) {
  make_index(write(kFilms), index());
  Index films(index());
  std::vector<std::thread> threads;
  for (int at = 0; at < 4; at++) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; round++) EXPECT_EQ(films.find("alien", 0, 10).hits.size(), 2u);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(IndexTest, NamesTheLineThatIsWrong) {
  for (std::string bad : {"x\ta\t1\t\t\t\n", "0\ta\t1\t\t\t\n", "1\ta\n", "1\ta\t19x\t\t\t\n", "99999999999\ta\t1\t\t\t\n"}) {
    try {
      make_index(write(kFilms + bad), index());
      ADD_FAILURE() << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("catalogue.tsv:5: "), std::string::npos) << error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(index()));
  }
}

TEST_F(IndexTest, SaysThatThereIsNone) { EXPECT_THROW(Index films(index()), chassis::Unavailable); }

}  // namespace movies
