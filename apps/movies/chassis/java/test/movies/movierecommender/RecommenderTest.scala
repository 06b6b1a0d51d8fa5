package movies.movierecommender

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}
import java.nio.{ByteBuffer, ByteOrder}
import scala.util.Using

import org.junit.jupiter.api.Assertions.{assertEquals, assertThrows}
import org.junit.jupiter.api.Test

import movies.chassis.Log

final class RecommenderTest {
  private def file(users: Seq[Seq[Float]], movies: Seq[Seq[Float]]): Array[Byte] = {
    val rank = movies.head.size
    val out = ByteBuffer.allocate(16 + 4 * rank * (users.size + movies.size)).order(ByteOrder.LITTLE_ENDIAN)
    out.put("ALS1".getBytes).putInt(rank).putInt(users.size).putInt(movies.size)
    (users ++ movies).flatten.foreach(out.putFloat)
    out.array
  }

  @Test def bestAreThoseOfASortedList(): Unit = {
    val random = new scala.util.Random(1)
    def rows(n: Int) = Seq.fill(n)(Seq.fill(4)(random.nextInt(5).toFloat - 2))
    val (users, movies) = (rows(10), rows(50))
    val factors = Factors.parse(ByteBuffer.wrap(file(users, movies)))
    def dot(a: Seq[Float], b: Seq[Float]) = a.zip(b).map { case (x, y) => x.toDouble * y }.sum
    def cosine(a: Seq[Float], b: Seq[Float]) =
      dot(a, b) / math.max(math.sqrt(dot(a, a)) * math.sqrt(dot(b, b)), Float.MinPositiveValue.toDouble)
    for (user <- 0 to 10; film <- Seq(3, 4); without <- Seq(Set.empty[Int], Set(1, 9, 77)); n <- Seq(1, 7, 100)) {
      def taste(movie: Seq[Float]) = if (user == 0) 0 else 0.25 * cosine(users(user - 1), movie)
      val scores = movies.map(movie => cosine(movies(film - 1), movie) + taste(movie))
      val expected = (1 to 50).filterNot(without + film).sortBy(movie => (-scores(movie - 1), movie)).take(n)
      assertEquals(expected, factors.best(user.toLong, film, without, n))
    }
  }

  @Test def theLargestDataSetIsTaken(): Unit = {
    val (rank, users, movies) = (16, 1000000, 1000)
    val file = Files.createTempFile("movies", ".factors")
    def write(at: Long, bytes: ByteBuffer): Unit =
      Using.resource(FileChannel.open(file, StandardOpenOption.WRITE))(_.write(bytes, at): Unit)
    def number(row: Int, k: Int, value: Float): Unit =
      write(16 + 4L * (row.toLong * rank + k), ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putFloat(value).flip)
    try {
      // Parts not written are 0 and take no disk space (a sparse file).
      val head = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).put("ALS1".getBytes).putInt(rank).putInt(users).putInt(movies)
      write(0, head.flip)
      number(users - 1, 3, 2f)
      for (movie <- Seq(7, 1000)) number(users + movie - 1, 3, movie.toFloat)
      number(users + movies - 1, rank - 1, 1f)
      val factors = Factors.read(file)
      assertEquals(Seq(7, 1000, 1), factors.best(users.toLong, 2, Set.empty, 3))
      assertEquals((2f, 1f), (factors.row(users.toLong, 1)(3), factors.row(0, movies.toLong)(rank - 1)))
      write(128L * 1024 * 1024, ByteBuffer.allocate(1))
      assertThrows(classOf[IOException], () => { Factors.read(file); () })
    } finally Files.delete(file)
  }

  @Test def brokenFilesAreRefused(): Unit = {
    val good = file(Seq(Seq(1f, 2f)), Seq(Seq(1f, 2f)))
    val random = new scala.util.Random(1)
    for (_ <- 1 to 1000) {
      val size = random.nextInt(good.length)
      assertThrows(classOf[IOException], () => { Factors.parse(ByteBuffer.wrap(good.take(size))); () })
    }
    for (at <- 0 until 16) {
      val bad = good.clone
      bad(at) = (bad(at) ^ 0x55).toByte
      assertThrows(classOf[IOException], () => { Factors.parse(ByteBuffer.wrap(bad)); () })
    }
    assertThrows(classOf[IOException], () => { Factors.parse(ByteBuffer.wrap(file(Seq(Seq(Float.NaN)), Seq(Seq(1f))))); () })
  }

  @Test def aNewerFileThatCannotBeReadLeavesTheOlder(): Unit = {
    val folder = Files.createTempDirectory("movies")
    val files = Seq("1.x", "2.x").map(name => folder.resolve(name))
    def read(one: Path): String = if (one == files(1)) throw new ClassCastException("no model") else "the older"
    try {
      files.foreach(one => Files.createFile(one))
      assertEquals("the older", new Newest[String](folder, ".x", read, "", new Log("x", 0)).value)
    } finally (files :+ folder).foreach(one => Files.delete(one))
  }
}
