package movies.handlers;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
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
import movies.idl.Refused;
import movies.idl.Review;
import movies.idl.ReviewStorage;

/** Keeps reviews. */
public final class ReviewStorageHandler extends Handler implements ReviewStorage.Iface {
    private static final String TABLE = "reviews";

    private final Store store;
    private final Documents reviews;

    public ReviewStorageHandler(Store store, Cache cache) {
        this.store = store;
        reviews = new Documents(store, cache, TABLE, id -> "review:" + id);
    }

    @Override
    public void store(Review review) throws Refused, Failure {
        Checks.number("review", review.getReview());
        Checks.stars(review.getStars());
        Checks.size("text", review.getText(), Checks.LONGEST_TEXT);
        // jsonb does not keep it.
        if (review.getText().indexOf('\0') >= 0) {
            throw new Refused(Code.BAD_REQUEST, "text takes UTF-8 without bytes of 0");
        }
        String id = Long.toString(review.getReview());
        if (store.insert(TABLE, id, document(review).toString())) {
            return;
        }
        // It exists: harmless if this request is a repetition.
        JsonObject there = Documents.parse(String.valueOf(store.get(TABLE, id)));
        if (there == null || !review(there).equals(review)) {
            throw new Refused(Code.CONFLICT, "review " + id + " exists with another content");
        }
    }

    @Override
    public List<Review> readMany(List<Long> asked) throws Refused, Failure {
        Checks.listed("reviews", asked.size());
        if (asked.isEmpty()) {
            return List.of();
        }
        Map<String, JsonObject> found = reviews.getMany(asked.stream().map(String::valueOf).toList());
        List<Review> answer = new ArrayList<>(asked.size());
        for (long id : asked) {
            JsonObject document = found.get(Long.toString(id));
            if (document != null) {
                answer.add(review(document));
            }
        }
        return answer;
    }

    private static JsonObject document(Review review) {
        JsonObject document = new JsonObject();
        document.addProperty("review", review.getReview());
        document.addProperty("movie", review.getMovie());
        document.addProperty("user", review.getUser());
        document.addProperty("text", review.getText());
        document.addProperty("stars", review.getStars());
        document.addProperty("time_ms", review.getTime_ms());
        return document;
    }

    private static Review review(JsonObject document) throws Failure {
        try {
            return new Review(
                    Documents.number(document, "review"),
                    Documents.number(document, "movie"),
                    Documents.number(document, "user"),
                    Documents.text(document, "text"),
                    (int) Documents.number(document, "stars"),
                    Documents.number(document, "time_ms"));
        } catch (JsonParseException | IllegalStateException | NumberFormatException | UnsupportedOperationException error) {
            throw new Failure.Unavailable("reviews: a document is no review");
        }
    }
}
