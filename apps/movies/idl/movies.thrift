/**
 * What the services of the movie application say to each other. One service each, and one method for each call of the
 * registry (`app.toml`); the types are named as in the HTTP interface.
 */

namespace cpp movies
namespace java movies.idl
namespace php Movies.Idl
namespace js movies
namespace py movies_idl
namespace go idl

/** Place of a film in the data set, from 1 on: 1 is rated best. */
typedef i64 MovieId
/** From 1 on; 0 where no user is known. */
typedef i64 UserId
/** Of a request for a review, while its parts are gathered. */
typedef i64 RequestId
/** Of a stored review. */
typedef i64 ReviewId

/** Why a method refused, and what the HTTP interface answers. */
enum Code {
  BAD_REQUEST = 400,
  UNAUTHORIZED = 401,
  PAYMENT_REQUIRED = 402,
  NOT_FOUND = 404,
  CONFLICT = 409,
  /** More than the service keeps. */
  TOO_LARGE = 413,
  /** Too many failures before; later it may be right. */
  TOO_MANY = 429,
  /** A store or a service behind it did not answer. */
  UNAVAILABLE = 503,
}

/** The method did nothing, for this reason. */
exception Refused {
  1: required Code code,
  /** The thing, what was given, the limit. */
  2: required string what,
}

/** What every service answers besides its own methods. These are not traced. */
service Chassis {
  /** CLOCK_MONOTONIC of the service. Units: ns. */
  i64 ping(),
  /** Counts since the start, by name. */
  map<string, i64> counters(),
  /** Ends the service as SIGTERM does. */
  void drain(),
}

struct Info {
  1: required MovieId movie,
  2: required string title,
  /** 0 where it is not known. */
  3: required i32 year,
  4: required i32 minutes,
  /** Such as PG-13; empty where it is not known. */
  5: required string certificate,
  6: required string genre,
  /** Empty where it is not known. */
  7: required string director,
  /** Persons, in the order of the credits. */
  8: required list<i64> cast,
  /** How many photos there are. */
  9: required i32 photos,
}

struct Rating {
  /** Of 10 stars; 0 where there is none. */
  1: required double mean,
  2: required i64 count,
}

struct Person {
  1: required i64 person,
  2: required string name,
}

struct Review {
  1: required ReviewId review,
  2: required MovieId movie,
  3: required UserId user,
  4: required string text,
  /** 1 to 10. */
  5: required i32 stars,
  /** Wall clock. Units: ms since 1970. */
  6: required i64 time_ms,
}

struct Rendition {
  1: required i32 height,
  2: required i32 kbps,
}

struct Video {
  1: required MovieId movie,
  /** The folder of its clip in the video store. */
  2: required string clip,
  3: required i32 seconds,
  /** What renting it costs. */
  4: required i32 cents,
  5: required list<Rendition> renditions,
}

struct Page {
  1: required Info info,
  2: required string plot,
  /** A JPEG; empty where it is missing. */
  3: required binary thumbnail,
  4: required Rating rating,
  5: required list<Person> cast,
  6: required list<Review> reviews,
  7: required list<binary> photos,
  /** Not there where it is missing. */
  8: optional Video video,
  9: required list<MovieId> similar,
  /** The parts that could not be had, by the service's name. */
  10: required list<string> missing,
}

struct Charge {
  1: required UserId user,
  /** What was left after it; where `repeated`, after the first time. */
  2: required i64 balance_cents,
  /** Whether this key had been charged before, so that nothing was taken now. */
  3: required bool repeated,
}

/** What a user has. */
struct Balance {
  1: required UserId user,
  2: required i64 balance_cents,
}

struct Ticket {
  /** Path and query of the master playlist, signed. */
  1: required string url,
  /** Wall clock. Units: s since 1970. */
  2: required i64 expires_s,
  3: required i32 cents,
  /** What was left after it was paid. */
  4: required i64 balance_cents,
  /** Whether it had been paid for before, so that nothing was taken now. */
  5: required bool repeated,
}

struct Rental {
  1: required MovieId movie,
  2: required i32 cents,
  /** Wall clock. Units: s since 1970. */
  3: required i64 expires_s,
  /** As that of a ticket; empty where the rental has expired. */
  4: required string url,
}

struct Account {
  1: required i64 balance_cents,
  2: required list<Rental> rentals,
}

struct Token {
  1: required string token,
  2: required UserId user,
  /** Wall clock. Units: s since 1970. */
  3: required i64 expires_s,
}

struct Hit {
  1: required MovieId movie,
  2: required string title,
  3: required i32 year,
  4: required double weight,
}

struct Hits {
  1: required list<Hit> hits,
  /** About how many there are in all. */
  2: required i64 all,
}

struct Ad {
  1: required i64 ad,
  2: required string text,
  3: required string link,
}

/** The parts of a review, each from one service. */
enum PartKind {
  ID = 0,
  MOVIE = 1,
  TEXT = 2,
  STARS = 3,
  USER = 4,
}

struct Part {
  1: required PartKind kind,
  /** Of all kinds but TEXT. */
  2: required i64 number,
  /** Of TEXT. */
  3: required string text,
}

service ComposePage extends Chassis {
  Page compose(1: MovieId movie, 2: UserId user, 3: i32 start, 4: i32 n) throws (1: Refused refused),
}

service MovieInfo extends Chassis {
  Info read(1: MovieId movie) throws (1: Refused refused),
  list<Info> readMany(1: list<MovieId> movies) throws (1: Refused refused),
}

service Plot extends Chassis {
  string read(1: MovieId movie) throws (1: Refused refused),
}

service Thumbnail extends Chassis {
  binary read(1: MovieId movie) throws (1: Refused refused),
}

service RatingService extends Chassis {
  Rating read(1: MovieId movie) throws (1: Refused refused),
}

service CastInfo extends Chassis {
  list<Person> read(1: list<i64> persons) throws (1: Refused refused),
}

service Reviews extends Chassis {
  /** The newest first. */
  list<Review> page(1: MovieId movie, 2: i32 start, 3: i32 n) throws (1: Refused refused),
}

service Photos extends Chassis {
  list<binary> read(1: MovieId movie, 2: i32 n) throws (1: Refused refused),
}

service Videos extends Chassis {
  Video read(1: MovieId movie) throws (1: Refused refused),
}

service MovieRecommender extends Chassis {
  /** Films that are most like this one, those first that the user would like; without those that the user has rented or reviewed. */
  list<MovieId> like(1: UserId user, 2: MovieId movie, 3: i32 n) throws (1: Refused refused),
}

service RentMovie extends Chassis {
  /**
   * Charges a user once for a film while the rental is valid, whichever keys it is asked with. The key of the last rental of the film is
   * answered with that rental even after it has expired.
   */
  Ticket rent(1: string token, 2: MovieId movie, 3: string key) throws (1: Refused refused),
  /** The balance of a user, and the rentals, of each film the last: those that expire last first. */
  Account account(1: string token, 2: i32 start, 3: i32 n) throws (1: Refused refused),
  /** Adds to the balance, once for each key of a user. */
  Charge deposit(1: string token, 2: i32 cents, 3: string key) throws (1: Refused refused),
}

service UserAuth extends Chassis {
  UserId check(1: string token) throws (1: Refused refused),
  /** Takes from the balance, once for each key of a user. */
  Charge charge(1: string token, 2: i32 cents, 3: string key) throws (1: Refused refused),
  Balance balance(1: string token) throws (1: Refused refused),
  /** Adds to the balance, once for each key of a user; its keys are others than those of charges. */
  Charge deposit(1: string token, 2: i32 cents, 3: string key) throws (1: Refused refused),
}

service UniqueId extends Chassis {
  ReviewId upload(1: RequestId request) throws (1: Refused refused),
}

service MovieIdService extends Chassis {
  MovieId upload(1: RequestId request, 2: string title) throws (1: Refused refused),
}

service Text extends Chassis {
  void upload(1: RequestId request, 2: string text) throws (1: Refused refused),
}

service ReviewRating extends Chassis {
  void upload(1: RequestId request, 2: i32 stars) throws (1: Refused refused),
}

service ComposeReview extends Chassis {
  /** Whether this was the last part, so that the review is stored now. */
  bool put(1: RequestId request, 2: Part part) throws (1: Refused refused),
}

service ReviewStorage extends Chassis {
  void store(1: Review review) throws (1: Refused refused),
  /** In the order that was asked for; those that do not exist are left out. */
  list<Review> readMany(1: list<ReviewId> reviews) throws (1: Refused refused),
}

service MovieReview extends Chassis {
  void append(1: MovieId movie, 2: ReviewId review, 3: i32 stars, 4: UserId user) throws (1: Refused refused),
  /** The newest first. */
  list<ReviewId> page(1: MovieId movie, 2: i32 start, 3: i32 n) throws (1: Refused refused),
}

service UserReview extends Chassis {
  void append(1: UserId user, 2: ReviewId review, 3: MovieId movie) throws (1: Refused refused),
  /** The newest first. */
  list<ReviewId> page(1: UserId user, 2: i32 start, 3: i32 n) throws (1: Refused refused),
}

service UpdateMovie extends Chassis {
  /** Counts the stars of a user once: those of the newest review. */
  void apply(1: MovieId movie, 2: ReviewId review, 3: i32 stars, 4: UserId user) throws (1: Refused refused),
}

service User extends Chassis {
  /** Slower after many of one source. `source`: the address that it is asked from; empty where it is not known. */
  UserId signUp(1: string name, 2: string password, 3: string source) throws (1: Refused refused),
  /** Slower after wrong passwords. `source`: as of signUp. */
  Token login(1: string name, 2: string password, 3: string source) throws (1: Refused refused),
  /** Ends a token before its time; nothing where it has ended. */
  void logout(1: string token) throws (1: Refused refused),
  /** The user of a token that has not ended. */
  UserId check(1: string token) throws (1: Refused refused),
  UserId upload(1: RequestId request, 2: string token) throws (1: Refused refused),
}

service Search extends Chassis {
  Hits find(1: string query, 2: i32 start, 3: i32 n) throws (1: Refused refused),
  /** In the order that was asked for. */
  list<Hit> titles(1: list<MovieId> movies) throws (1: Refused refused),
}

service Ads extends Chassis {
  list<Ad> pick(1: UserId user, 2: MovieId movie, 3: i32 n) throws (1: Refused refused),
}
