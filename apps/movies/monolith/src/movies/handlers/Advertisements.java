package movies.handlers;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import movies.idl.Ad;

/** The advertisements: a file of the data set. */
public record Advertisements(List<Row> rows, int rank) {
    /** An advertisement, its genre of films, and the weights of its users. */
    record Row(Ad ad, String genre, float[] weights) {}

    public static final Advertisements NONE = new Advertisements(List.of(), 0);
    /** More than the data set may have, so that a broken file does not take the memory. Units: bytes. */
    private static final long LARGEST_FILE = 32L * 1024 * 1024;

    /** Errors: `UncheckedIOException`, where the file is none. */
    public static Advertisements read(Path file) {
        try {
            return parse(text(file));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (RuntimeException error) {
            throw new UncheckedIOException(new IOException("it is no model of advertisements: " + error));
        }
    }

    private static Advertisements parse(String text) throws IOException {
        JsonArray all = JsonParser.parseString(text).getAsJsonObject().getAsJsonArray("ads");
        List<Row> rows = new ArrayList<>(all.size());
        for (JsonElement each : all) {
            JsonObject one = each.getAsJsonObject();
            JsonArray given = one.getAsJsonArray("weights");
            float[] weights = new float[given.size()];
            for (int at = 0; at < weights.length; at++) {
                weights[at] = given.get(at).getAsFloat();
                if (!Float.isFinite(weights[at])) {
                    throw new IOException("weights that are not finite");
                }
            }
            if (!rows.isEmpty() && rows.get(0).weights.length != weights.length) {
                throw new IOException("weights of " + rows.get(0).weights.length + " and of " + weights.length + " numbers");
            }
            Ad ad = new Ad(one.get("ad").getAsLong(), one.get("text").getAsString(), one.get("link").getAsString());
            rows.add(new Row(ad, one.get("genre").getAsString(), weights));
        }
        return new Advertisements(List.copyOf(rows), rows.isEmpty() ? 0 : rows.get(0).weights.length);
    }

    /** By film, from the catalogue: lines of film, title, year, genre, director, plot separated by tabs; empty if there is no such file. */
    public static Map<Long, String> genres(Path catalogue) throws IOException {
        Map<Long, String> genres = new HashMap<>();
        if (!Files.exists(catalogue)) {
            return genres;
        }
        for (String line : text(catalogue).lines().toList()) {
            String[] fields = line.split("\t", -1);
            if (fields.length < 4) {
                throw new IOException(catalogue + ": a line of " + fields.length + " fields; it has 6");
            }
            genres.put(Long.parseLong(fields[0]), fields[3]);
        }
        return genres;
    }

    private static String text(Path file) throws IOException {
        if (Files.size(file) > LARGEST_FILE) {
            throw new IOException(file + " has " + Files.size(file) + " bytes; the limit is " + LARGEST_FILE);
        }
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
