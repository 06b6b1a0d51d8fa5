package movies.movierecommender

import java.io.IOException
import java.nio.file.{Files, Path}
import scala.jdk.CollectionConverters._
import scala.util.Using

import movies.chassis.Log

/** The newest file by name, read again when a newer one appears. An unreadable file is skipped, and the previous one stays. */
final class Newest[T](folder: Path, ending: String, read: Path => T, nothing: T, log: Log) {
  @volatile private var current = nothing
  private var name = ""

  look()
  private val watcher = new Thread(() => watch(), "newest")
  watcher.setDaemon(true)
  watcher.start()

  def value: T = current

  private def watch(): Unit = while (true) {
    Thread.sleep(Newest.LookEachMs)
    look()
  }

  private def look(): Unit =
    try {
      val newer = names.filter(_ > name).sorted.reverse
      newer.find(isUsed).foreach(used => name = used)
    } catch { case error @ (_: IOException | _: RuntimeException) => log.error("a folder cannot be read", "folder", folder, "error", error.toString) }

  private def names: Seq[String] =
    Using.resource(Files.list(folder))(_.iterator.asScala.map(_.getFileName.toString).filter(_.endsWith(ending)).toSeq)

  private def isUsed(file: String): Boolean =
    try {
      current = read(folder.resolve(file))
      log.info("a file is used from now on", "file", file)
      true
    } catch {
      case error @ (_: IOException | _: RuntimeException) =>
        log.error("a file cannot be read", "file", file, "error", String.valueOf(error.getMessage))
        false
    }
}

object Newest {

  /** Source: the contract of the application. */
  private val LookEachMs = 5000L
}
