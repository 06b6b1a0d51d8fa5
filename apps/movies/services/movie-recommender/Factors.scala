package movies.movierecommender

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}

/** What is known of users and films: `rank` numbers each, made by analytics or the data set. Rows begin at 1. */
final class Factors private (val rank: Int, val users: Int, val movies: Int, values: Array[Float]) {
  import Factors.Score

  /** Films that the user would like best, without `without`; those that are like it where the user is not known. */
  def best(user: Long, without: Int, n: Int): Seq[Int] = {
    val row = if (user >= 1 && user <= users) (user.toInt - 1) * rank else -1
    if (row >= 0 && length(row) > 0) top(n, without, movie => dot(row, at(movie)))
    else {
      val own = at(without)
      top(n, without, movie => dot(own, at(movie)) / math.max(length(own) * length(at(movie)), Float.MinPositiveValue.toDouble))
    }
  }

  /** The numbers of the user, else those of the film; none where neither is known. */
  def row(user: Long, movie: Long): Array[Float] =
    if (user >= 1 && user <= users) values.slice((user.toInt - 1) * rank, user.toInt * rank)
    else if (movie >= 1 && movie <= movies) values.slice(at(movie.toInt), at(movie.toInt) + rank)
    else Array.empty

  /** The `n` highest scores, the highest first, and of equal ones the lower number. */
  private def top(n: Int, without: Int, scoreOf: Int => Double): Seq[Int] = {
    // The worst of those that are kept is the first to go.
    val kept = new java.util.PriorityQueue[Score](n + 1, (a: Score, b: Score) => b.compareTo(a))
    for (movie <- 1 to movies if movie != without) {
      kept.add(Score(scoreOf(movie), movie))
      if (kept.size > n) kept.poll(): Unit
    }
    Seq.fill(kept.size)(kept.poll().movie).reverse
  }

  private def at(movie: Int): Int = (users + movie - 1) * rank

  private def dot(a: Int, b: Int): Double = {
    var sum = 0.0
    var k = 0
    while (k < rank) {
      sum += values(a + k).toDouble * values(b + k)
      k += 1
    }
    sum
  }

  private def length(row: Int): Double = math.sqrt(dot(row, row))
}

object Factors {

  /** Nothing is known. */
  val none = new Factors(0, 0, 0, Array.empty)

  /** Source of the format: the contract of the application. */
  private val Magic = "ALS1"
  private val Head = 16
  /** More than the data set may have, so that a broken file does not take the memory. Units: bytes. */
  private val LargestFile = 32L * 1024 * 1024
  private val MostRank = 1024

  private final case class Score(value: Double, movie: Int) extends Comparable[Score] {
    /** The better one comes first. */
    override def compareTo(other: Score): Int = {
      val byValue = java.lang.Double.compare(other.value, value)
      if (byValue != 0) byValue else Integer.compare(movie, other.movie)
    }
  }

  /** Errors: `IOException`. */
  def read(file: Path): Factors = {
    val size = Files.size(file)
    if (size > LargestFile) throw new IOException(s"$file has $size bytes; the limit is $LargestFile")
    parse(Files.readAllBytes(file))
  }

  /** Errors: `IOException`. */
  def parse(bytes: Array[Byte]): Factors = {
    val in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    if (bytes.length < Head || new String(bytes, 0, 4, "ISO-8859-1") != Magic) throw new IOException(s"it does not begin with $Magic")
    val Seq(rank, users, movies) = Seq(4, 8, 12).map(in.getInt): @unchecked
    val values = (users.toLong + movies) * rank
    if (rank < 1 || rank > MostRank || users < 0 || movies < 0 || Head + 4 * values != bytes.length)
      throw new IOException(s"it has ${bytes.length} bytes for $users users and $movies films of rank $rank")
    val all = new Array[Float](values.toInt)
    in.position(Head).asFloatBuffer.get(all): Unit
    if (all.exists(value => !java.lang.Float.isFinite(value))) throw new IOException("a factor is not a finite number")
    new Factors(rank, users, movies, all)
  }
}
