package movies.analytics

import java.io.IOException
import java.nio.file.{Files, Path}
import java.sql.SQLException

import movies.chassis.{Config, ConfigError, Log}

/** The batch job analytics: reads reviews and rentals, trains, writes the next files of `data`, and ends. */
object Main {
  def main(arguments: Array[String]): Unit = {
    var log = new Log("analytics", 0)
    try {
      if (arguments.length != 1) throw new ConfigError("usage: movies-analytics CONFIGFILE")
      val config = Config.read(Path.of(arguments(0)))
      log = new Log(config.service, config.instance)
      run(config, log)
    } catch {
      case error @ (_: ConfigError | _: IOException | _: SQLException | _: IllegalArgumentException) =>
        log.error(String.valueOf(error.getMessage))
        sys.exit(1)
    }
  }

  private def run(config: Config, log: Log): Unit = {
    val folder = config.neededData
    if (!Files.isDirectory(folder)) throw new ConfigError(s"`data` is $folder, which is not a folder")
    val tastes = Tastes.read(config)
    val genres = Tastes.genres(config)
    val factors = Training.factors(tastes, users = tastes.map(_.user).max, movies = genres.keys.max)
    val files = new ModelFiles(folder)
    val version = files.write(factors, genres)
    log.info("a model was written", "version", version, "tastes", tastes.size)
    println(f"wrote $version%08d")
  }
}
