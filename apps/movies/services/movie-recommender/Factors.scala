package movies.movierecommender

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}
import java.nio.{ByteBuffer, ByteOrder, FloatBuffer}
import scala.util.Using

/** Factors of users and films: `rank` numbers each, made by analytics or the data set. Rows begin at 1. */
final class Factors private (val rank: Int, val users: Int, val movies: Int, values: FloatBuffer) {
  import Factors.{Score, Taste}

  /** The films most like this one, of which the user's taste moves the better ones forward; except itself and `without`. */
  def best(user: Long, film: Int, without: Set[Int], n: Int): Seq[Int] = {
    val own = at(film)
    val row = if (user >= 1 && user <= users) (user.toInt - 1) * rank else -1
    top(n, without + film, movie => cosine(own, at(movie)) + (if (row < 0) 0 else Taste * cosine(row, at(movie))))
  }

  private def cosine(a: Int, b: Int): Double = dot(a, b) / math.max(length(a) * length(b), Float.MinPositiveValue.toDouble)

  /** The user's factors, else the film's; empty if neither is known. A user without reviews and rentals has zeros. */
  def row(user: Long, movie: Long): Array[Float] = {
    val rows = Seq(Option.when(user >= 1 && user <= users)((user.toInt - 1) * rank), Option.when(movie >= 1 && movie <= movies)(at(movie.toInt)))
    rows.flatten.find(length(_) > 0).fold(Array.empty[Float])(copy)
  }

  private def copy(row: Int): Array[Float] = Array.tabulate(rank)(k => values.get(row + k))

  /** The `n` highest scores, the highest first, and of equal ones the lower number. */
  private def top(n: Int, without: Set[Int], scoreOf: Int => Double): Seq[Int] = {
    // The worst of the kept films is the first to go.
    val kept = new java.util.PriorityQueue[Score](n + 1, (a: Score, b: Score) => b.compareTo(a))
    for (movie <- 1 to movies if !without(movie)) {
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
      sum += values.get(a + k).toDouble * values.get(b + k)
      k += 1
    }
    sum
  }

  private def length(row: Int): Double = math.sqrt(dot(row, row))
}

object Factors {

  /** Nothing is known. */
  val none = new Factors(0, 0, 0, FloatBuffer.allocate(0))

  /** Weight of the user's taste: the film that is shown counts four times as much. */
  private val Taste = 0.25
  /** Source of the format: the contract of the application. */
  private val Magic = "ALS1"
  private val Head = 16
  /** Twice the size at the registry's limits (1 000 000 users and 1000 films, rank 16), to leave room for users who sign up. Units: bytes. */
  private val LargestFile = 128L * 1024 * 1024
  private val MostRank = 1024

  private final case class Score(value: Double, movie: Int) extends Comparable[Score] {
    /** The better one comes first. */
    override def compareTo(other: Score): Int = {
      val byValue = java.lang.Double.compare(other.value, value)
      if (byValue != 0) byValue else Integer.compare(movie, other.movie)
    }
  }

  /**
   * The file is mapped rather than read into the heap, which may be smaller than the largest file; the kernel can reclaim
   * its pages. The file may be removed, and is never changed in place.
   *
   * Errors: `IOException`.
   */
  def read(file: Path): Factors =
    Using.resource(FileChannel.open(file, StandardOpenOption.READ)) { channel =>
      val size = channel.size
      if (size > LargestFile) throw new IOException(s"$file has $size bytes; the limit is $LargestFile")
      parse(channel.map(FileChannel.MapMode.READ_ONLY, 0, size))
    }

  /** Errors: `IOException`. */
  def parse(bytes: ByteBuffer): Factors = {
    val (in, size) = (bytes.order(ByteOrder.LITTLE_ENDIAN), bytes.limit())
    if (size < Head || !Magic.indices.forall(at => in.get(at) == Magic(at))) throw new IOException(s"it does not begin with $Magic")
    val Seq(rank, users, movies) = Seq(4, 8, 12).map(in.getInt): @unchecked
    val numbers = (users.toLong + movies) * rank
    if (rank < 1 || rank > MostRank || users < 0 || movies < 0 || Head + 4 * numbers != size)
      throw new IOException(s"it has $size bytes for $users users and $movies films of rank $rank")
    val values = in.position(Head).slice.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer
    var at = 0
    while (at < values.limit()) {
      if (!java.lang.Float.isFinite(values.get(at))) throw new IOException("a factor is not a finite number")
      at += 1
    }
    new Factors(rank, users, movies, values)
  }
}
