package movies.movieinfo;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.Info;
import movies.idl.MovieInfo;
import movies.idl.Refused;

/** Facts about films. */
public final class MovieInfoHandler extends Handler implements MovieInfo.Iface {
    private final Documents movies;

    public MovieInfoHandler(Store store, Cache cache) {
        movies = new Documents(store, cache, "movies", id -> "info:" + id);
    }

    @Override
    public Info read(long movie) throws Refused, Failure {
        return readMany(List.of(movie)).get(0);
    }

    @Override
    public List<Info> readMany(List<Long> asked) throws Refused, Failure {
        Checks.listed("films", asked.size());
        for (long movie : asked) {
            Checks.number("movie", movie);
        }
        if (asked.isEmpty()) {
            return List.of();
        }
        Map<String, JsonObject> found = movies.getMany(asked.stream().map(String::valueOf).toList());
        List<Info> infos = new ArrayList<>(asked.size());
        for (long movie : asked) {
            JsonObject document = found.get(Long.toString(movie));
            if (document == null) {
                throw new Refused(Code.NOT_FOUND, "film " + movie + " does not exist");
            }
            infos.add(info(movie, document));
        }
        return infos;
    }

    private static Info info(long movie, JsonObject document) {
        List<Long> cast = new ArrayList<>();
        if (document.get("cast") instanceof JsonArray persons) {
            for (JsonElement person : persons) {
                cast.add(person.getAsLong());
            }
        }
        return new Info(
                movie,
                Documents.text(document, "title"),
                (int) Documents.number(document, "year"),
                (int) Documents.number(document, "minutes"),
                Documents.text(document, "certificate"),
                Documents.text(document, "genre"),
                Documents.text(document, "director"),
                cast,
                (int) Documents.number(document, "photos"));
    }
}
