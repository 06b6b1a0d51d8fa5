package movies.movierecommender

import movies.chassis.Run
import movies.idl.MovieRecommender

/** The service movie-recommender. */
object Main {
  def main(arguments: Array[String]): Unit =
    Run.main[MovieRecommenderHandler](
      "movie-recommender",
      arguments,
      handler => new MovieRecommender.Processor[MovieRecommender.Iface](handler),
      service => {
        val factors = new Newest(service.config.neededData, ".factors", Factors.read, Factors.none, service.log)
        new MovieRecommenderHandler(service, service.store("users"), () => factors.value)
      }
    )
}
