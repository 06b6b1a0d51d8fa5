package movies.analytics

import java.sql.ResultSet
import java.time.Duration
import scala.collection.mutable
import scala.util.Using

import movies.chassis.{Config, ConfigError, StoreAddress}

/** A user's rating of a film. Units: stars. */
final case class Taste(user: Int, movie: Int, stars: Float)

object Tastes {

  /** A film that was paid for and not judged: better than the middle of 10. */
  private val RentedStars = 7f
  /** Rows fetched into memory at a time. */
  private val Fetched = 1000
  /** A hundred times the duration with the data set. */
  private val Limit = Duration.ofMinutes(10)

  /** From reviews, and from rentals without a review. Errors: `ConfigError`, `SQLException`. */
  def read(config: Config): Seq[Taste] = {
    val reviews = rows(config, "reviews", "SELECT id, (doc->>'user')::int, (doc->>'movie')::int, (doc->>'stars')::real FROM reviews") {
      row => Taste(row.getInt(2), row.getInt(3), row.getFloat(4))
    }
    val rentals = rows(config, "users", "SELECT id, split_part(id, '#', 1)::int, (doc->>'movie')::int FROM rentals") {
      row => Taste(row.getInt(2), row.getInt(3), RentedStars)
    }
    val judged = reviews.map(taste => (taste.user, taste.movie)).toSet
    val all = reviews ++ rentals.distinct.filterNot(taste => judged((taste.user, taste.movie)))
    if (all.isEmpty) throw new ConfigError("`store.reviews` has no reviews, so that there is nothing to train with")
    // The order of rows is the database's; a sorted one makes the same model of the same rows.
    all.sortBy(taste => (taste.user, taste.movie, taste.stars))
  }

  /** The genre of each film. */
  def genres(config: Config): Map[Int, String] = {
    val found = rows(config, "movies", "SELECT id, id::int, coalesce(doc->>'genre', '') FROM movies")(row => row.getInt(2) -> row.getString(3)).toMap
    if (found.isEmpty) throw new ConfigError("`store.movies` has no films")
    found
  }

  /** Rows of all shards by their keys, which the query has first. A shard may begin with copies of others' rows, which stay as they were made. */
  private def rows[T](config: Config, domain: String, query: String)(make: ResultSet => T): Seq[T] = {
    val found = mutable.LinkedHashMap.empty[String, T]
    config.texts(s"store.$domain").forEach { text =>
      val address = StoreAddress.parse(s"store.$domain", text)
      Using.resource(address.connect(Limit)) { connection =>
        connection.setAutoCommit(false)
        Using.resource(connection.prepareStatement(query)) { statement =>
          statement.setFetchSize(Fetched)
          Using.resource(statement.executeQuery())(result => while (result.next()) found.getOrElseUpdate(result.getString(1), make(result)): Unit)
        }
      }
    }
    found.values.toSeq
  }
}
