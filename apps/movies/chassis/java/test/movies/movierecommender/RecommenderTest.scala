package movies.movierecommender

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}

import org.junit.jupiter.api.Assertions.{assertEquals, assertThrows}
import org.junit.jupiter.api.Test

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
    val factors = Factors.parse(file(users, movies))
    for (user <- 1 to 10; n <- Seq(1, 7, 100) if users(user - 1).exists(_ != 0)) {
      val scores = movies.map(_.zip(users(user - 1)).map { case (a, b) => a * b }.sum)
      val expected = (1 to 50).filter(_ != 3).sortBy(movie => (-scores(movie - 1), movie)).take(n)
      assertEquals(expected, factors.best(user.toLong, 3, n))
    }
  }

  @Test def brokenFilesAreRefused(): Unit = {
    val good = file(Seq(Seq(1f, 2f)), Seq(Seq(1f, 2f)))
    val random = new scala.util.Random(1)
    for (_ <- 1 to 1000) {
      val size = random.nextInt(good.length)
      assertThrows(classOf[IOException], () => { Factors.parse(good.take(size)); () })
    }
    for (at <- 0 until 16) {
      val bad = good.clone
      bad(at) = (bad(at) ^ 0x55).toByte
      assertThrows(classOf[IOException], () => { Factors.parse(bad); () })
    }
    assertThrows(classOf[IOException], () => { Factors.parse(file(Seq(Seq(Float.NaN)), Seq(Seq(1f)))); () })
  }
}
