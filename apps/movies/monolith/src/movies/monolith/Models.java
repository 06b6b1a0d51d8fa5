package movies.monolith;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;
import movies.chassis.ConfigError;
import movies.chassis.Service;
import movies.handlers.Advertisements;
import movies.handlers.AdsHandler;
import movies.handlers.FilmIndex;
import movies.movierecommender.Factors;
import movies.movierecommender.MovieRecommenderHandler;
import movies.movierecommender.Newest;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;

/** Handlers over files of the data set. */
final class Models {
    private Models() {}

    private static Newest<Factors> factors(Service service) throws ConfigError {
        return new Newest<>(service.config.neededData(), ".factors", Factors::read, Factors.none(), service.log);
    }

    static MovieRecommenderHandler recommender(Service service) throws ConfigError {
        Newest<Factors> factors = factors(service);
        return new MovieRecommenderHandler(service, service.store("users"), factors::value);
    }

    static AdsHandler ads(Service service) throws ConfigError, IOException {
        Path folder = service.config.neededData();
        Newest<Advertisements> model =
                new Newest<>(folder, ".ads", Advertisements::read, Advertisements.NONE, service.log);
        Supplier<Advertisements> newest = model::value;
        Newest<Factors> factors = factors(service);
        return new AdsHandler(
                service, newest, (user, movie) -> factors.value().row(user, movie), Advertisements.genres(folder.resolve("catalogue.tsv")));
    }

    /** The index that was made in the folder of the service before. */
    static FilmIndex index(Service service) throws ConfigError, IOException {
        return new FilmIndex(FSDirectory.open(service.config.neededData().resolve("index")));
    }

    /** One in memory, of the catalogue among the files of the data set. */
    static FilmIndex indexInMemory(Service service) throws ConfigError, IOException {
        Directory memory = new ByteBuffersDirectory();
        FilmIndex.make(service.config.neededData().resolve("catalogue.tsv"), memory);
        return new FilmIndex(memory);
    }
}
