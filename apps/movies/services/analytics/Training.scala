package movies.analytics

import org.apache.spark.ml.recommendation.ALS
import org.apache.spark.sql.{DataFrame, SparkSession}
import scala.util.Using

/** Rows of `rank` numbers; user 1 has row 0. Zeros if unknown. */
final case class Learned(rank: Int, users: Array[Array[Float]], movies: Array[Array[Float]])

/** Alternating least squares, the same for the same input. */
object Training {

  /** As the first factors of the data set. */
  private val Rank = 16
  /** Spark's defaults of `maxIter` and `regParam`. */
  private val Rounds = 10
  private val Regularization = 0.1
  private val Seed = 1L

  def factors(tastes: Seq[Taste], users: Int, movies: Int): Learned =
    Using.resource(session()) { spark =>
      import spark.implicits._
      val als = new ALS().setRank(Rank).setMaxIter(Rounds).setRegParam(Regularization).setSeed(Seed)
      val model = als.setUserCol("user").setItemCol("movie").setRatingCol("stars").fit(tastes.toDF().coalesce(1))
      Learned(Rank, rows(model.userFactors, users), rows(model.itemFactors, movies))
    }

  private def rows(factors: DataFrame, number: Int): Array[Array[Float]] = {
    val rows = Array.fill(number)(new Array[Float](Rank))
    factors.collect().foreach { row =>
      val place = row.getInt(0) - 1
      if (place >= 0 && place < number) rows(place) = row.getSeq[Float](1).toArray
    }
    rows
  }

  private def session(): SparkSession =
    SparkSession
      .builder()
      .master("local[1]") // One thread, so that sums are made in one order.
      .appName("analytics")
      .config("spark.ui.enabled", "false")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.sql.shuffle.partitions", "2")
      .getOrCreate()
}
