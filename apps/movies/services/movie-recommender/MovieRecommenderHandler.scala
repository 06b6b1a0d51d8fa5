package movies.movierecommender

import java.lang.{Long => JLong}
import java.util.{List => JList}
import scala.jdk.CollectionConverters._

import movies.chassis.{Checks, Handler, Store}
import movies.idl.{Code, MovieRecommender, Refused}

/** Which films are like one, by the newest factors. */
final class MovieRecommenderHandler(store: Store, factors: () => Factors) extends Handler with MovieRecommender.Iface {

  override def like(user: Long, movie: Long, n: Int): JList[JLong] = {
    Checks.range("user", user, 0, Long.MaxValue)
    Checks.number("movie", movie)
    Checks.page(0, n)
    // The same for the whole request.
    val known = factors()
    if (movie > known.movies) throw new Refused(Code.NOT_FOUND, s"film $movie is not known; there are factors of ${known.movies}")
    if (n == 0) JList.of()
    else known.best(user, movie.toInt, seen(user), n).map(best => JLong.valueOf(best.toLong)).asJava
  }

  /** What the user has rented or reviewed. */
  private def seen(user: Long): Set[Int] = if (user == 0) Set.empty else store.ofOwner("seen", user.toString).asScala.flatMap(_.toIntOption).toSet
}
