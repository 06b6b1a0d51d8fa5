package movies.handlers;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.Refused;
import movies.idl.Rendition;
import movies.idl.Video;
import movies.idl.Videos;

/** Renditions and prices of the videos of films. */
public final class VideosHandler extends Handler implements Videos.Iface {
    private final Store store;
    private final Cache cache;

    public VideosHandler(Store store, Cache cache) {
        this.store = store;
        this.cache = cache;
    }

    @Override
    public Video read(long movie) throws Refused, Failure {
        Checks.number("movie", movie);
        String key = "video:" + movie;
        byte[] cached = cache.getMany(List.of(key)).get(key);
        // A malformed value counts as a miss.
        Video found = cached == null ? null : video(new String(cached, StandardCharsets.UTF_8));
        if (found != null) {
            return found;
        }
        String document = store.get("movies", Long.toString(movie));
        Video video = document == null ? null : video(document);
        if (video == null) {
            throw new Refused(Code.NOT_FOUND, "movie " + movie + ": there is no video of it");
        }
        cache.set(key, document.getBytes(StandardCharsets.UTF_8), Cache.LONG_S);
        return video;
    }

    /** Null if malformed. */
    private static Video video(String text) {
        JsonObject document = Documents.parse(text);
        if (document == null
                || !(document.get("clip") instanceof JsonPrimitive clip && clip.isString())
                || !(document.get("renditions") instanceof JsonArray all)) {
            return null;
        }
        try {
            List<Rendition> renditions = new ArrayList<>(all.size());
            for (JsonElement one : all) {
                JsonObject rendition = one.getAsJsonObject();
                renditions.add(new Rendition(whole(rendition, "height").intValueExact(), whole(rendition, "kbps").intValueExact()));
            }
            return new Video(
                    whole(document, "movie").longValueExact(),
                    clip.getAsString(),
                    whole(document, "seconds").intValueExact(),
                    whole(document, "cents").intValueExact(),
                    renditions);
        } catch (IllegalStateException | ArithmeticException | NumberFormatException error) {
            return null;
        }
    }

    /** Errors: `IllegalStateException` if it is missing, `NumberFormatException` if it is not a whole number. */
    private static BigDecimal whole(JsonObject document, String name) {
        if (document.get(name) instanceof JsonPrimitive value && value.isNumber()) {
            return value.getAsBigDecimal();
        }
        throw new IllegalStateException(name + " is no number");
    }
}
