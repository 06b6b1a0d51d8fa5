package movies.analytics

import com.google.gson.{JsonArray, JsonObject, JsonParser}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardCopyOption, StandardOpenOption}
import java.nio.{ByteBuffer, ByteOrder}
import scala.jdk.CollectionConverters._
import scala.util.Using

/** The files `NNNNNNNN.factors` and `NNNNNNNN.ads` of a folder; the newest are used. */
final class ModelFiles(folder: Path) {
  private val newest = names(".factors").concat(names(".ads")).map(_.takeWhile(_.isDigit).toInt).maxOption.getOrElse(0)

  /** Writes both as the next version, and returns it. Errors: `IOException`. */
  def write(learned: Learned, genres: Map[Int, String]): Int = {
    val version = newest + 1
    // Advertisements first: who looks between the two has the older factors for both.
    names(".ads").maxOption.foreach(file => put(f"$version%08d.ads", ads(folder.resolve(file), version, learned, genres)))
    put(f"$version%08d.factors", factors(learned))
    version
  }

  /** Source of the format: the contract of the application. */
  private def factors(learned: Learned): Array[Byte] = {
    val rows = learned.users ++ learned.movies
    val out = ByteBuffer.allocate(16 + 4 * learned.rank * rows.length).order(ByteOrder.LITTLE_ENDIAN)
    out.put("ALS1".getBytes("ISO-8859-1")).putInt(learned.rank).putInt(learned.users.length).putInt(learned.movies.length)
    rows.foreach(_.foreach(out.putFloat))
    out.array
  }

  /** The same advertisements, each with the vector that the data maker gives it: a direction of length 1, from the mean film to those of its genre. */
  private def ads(file: Path, version: Int, learned: Learned, genres: Map[Int, String]): Array[Byte] = {
    val middle = mean(learned.movies.toSeq, learned.rank)
    val ofGenre = genres.toSeq.groupMap(_._2)(_._1)
    val byGenre = ofGenre.view.mapValues(movies => direction(middle, mean(movies.map(movie => learned.movies(movie - 1)), learned.rank))).toMap
    val model = new JsonObject
    model.addProperty("version", version)
    val ads = JsonParser.parseString(Files.readString(file)).getAsJsonObject.getAsJsonArray("ads")
    ads.forEach { ad =>
      val weights = new JsonArray
      byGenre.getOrElse(ad.getAsJsonObject.get("genre").getAsString, new Array[Float](learned.rank)).foreach(weight => weights.add(weight))
      ad.getAsJsonObject.add("weights", weights)
    }
    model.add("ads", ads)
    model.toString.getBytes("UTF-8")
  }

  private def mean(rows: Seq[Array[Float]], rank: Int): Array[Float] =
    Array.tabulate(rank)(k => (rows.map(_(k).toDouble).sum / rows.size).toFloat)

  private def direction(from: Array[Float], to: Array[Float]): Array[Float] = {
    val away = to.zip(from).map { case (a, b) => (a - b).toDouble }
    val length = math.sqrt(away.map(value => value * value).sum)
    away.map(value => if (length > 0) (value / length).toFloat else 0f)
  }

  /** Who reads sees all of it or nothing, also after a power cut. */
  private def put(name: String, bytes: Array[Byte]): Unit = {
    val unfinished = folder.resolve(name + ".new")
    Using.resource(FileChannel.open(unfinished, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) { file =>
      val rest = ByteBuffer.wrap(bytes)
      while (rest.hasRemaining) file.write(rest): Unit
      file.force(true)
    }
    Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE): Unit
    Using.resource(FileChannel.open(folder, StandardOpenOption.READ))(_.force(true))
  }

  private def names(ending: String): Seq[String] =
    Using.resource(Files.list(folder)) { files =>
      files.iterator.asScala.map(_.getFileName.toString).filter(_.matches("[0-9]{8}\\" + ending)).toSeq
    }
}
