package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import movies.idl.Hit;
import movies.idl.Hits;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.thrift.TException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the handlers of films. */
final class FilmsTest {
    private static final String CATALOGUE = """
            1\tThe Godfather\t1972\tDrama\tFrancis Ford Coppola\tA family runs its affairs in New York.
            2\tAlien\t1979\tHorror\tRidley Scott\tA ship answers a call.
            3\tShips\t2001\tDrama\t\tOf sailing and an alien.
            5\tAmélie\t\tComedy\tJean-Pierre Jeunet\tShe helps others running from their lives.
            """;

    @TempDir
    Path folder;

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    private FilmIndex index() throws IOException {
        ByteBuffersDirectory memory = new ByteBuffersDirectory();
        assertEquals(4, FilmIndex.make(file("catalogue.tsv", CATALOGUE), memory));
        return new FilmIndex(memory);
    }

    @Test
    void filmsAreFoundByTheirWords() throws IOException {
        try (FilmIndex index = index()) {
            check(index, "alien", "[2, 3] of 2");
            check(index, "ship", "[3, 2] of 2");
            check(index, "COPPOLA", "[1] of 1");
            check(index, "coppolas", "[1] of 1");
            check(index, "Runs", "[1] of 1");
            check(index, "runs", "[1, 5] of 2");
            check(index, "amélie", "[5] of 1");
            check(index, "amelie", "[5] of 1");
            check(index, "godfa", "[1] of 1");
            check(index, "1979", "[2] of 1");
            check(index, "zzz", "[] of 0");
            check(index, "AND (\"", "[3] of 1");
            check(index, "", "[1, 2, 3, 5] of 4");
            assertEquals(List.of(3L), index.find("alien", 1, 5).getHits().stream().map(Hit::getMovie).toList());
            assertEquals(0, index.find("alien", 2_000, 5).getHitsSize());
            assertEquals(2, index.find("alien", 0, 0).getAll());
            assertEquals(List.of("Amélie", "The Godfather"), index.titles(List.of(5L, 4L, 1L)).stream().map(Hit::getTitle).toList());
        }
    }

    /** The same cases as of the service in C++. */
    @Test
    void whatPeopleTypeIsFound() throws IOException {
        String films = """
                1\tThe Godfather Part II\t1974\tDrama\tFrancis Ford Coppola\tThe early life of a father.
                2\tOcean's Eleven\t2001\tCrime\tSteven Soderbergh\tA thief plans to rob casinos.
                3\tAmélie\t2001\tComedy\tJean-Pierre Jeunet\tShe helps others.
                4\tIt\t2017\tHorror\tAndy Muschietti\tA clown comes from the sewers.
                5\tThelma & Louise\t1991\tDrama\tRidley Scott\tTwo friends drive.
                6\tRocky 3\t1982\tDrama\tSylvester Stallone\tA champion trains.
                """;
        Map<String, Long> firsts = Map.ofEntries(Map.entry("godf", 1L), Map.entry("the godfather 2", 1L), Map.entry("rocky III", 6L),
                Map.entry("oceans eleven", 2L), Map.entry("ocean\u2019s elev", 2L), Map.entry("amelie", 3L), Map.entry("Ame\u0301lie", 3L),
                Map.entry("it", 4L), Map.entry("thelma and lou", 5L), Map.entry("Thelma&Louise", 5L), Map.entry("soderb", 2L),
                Map.entry("comedy 2001", 3L), Map.entry("1991", 5L));
        ByteBuffersDirectory memory = new ByteBuffersDirectory();
        FilmIndex.make(file("typed.tsv", films), memory);
        try (FilmIndex index = new FilmIndex(memory)) {
            for (Map.Entry<String, Long> one : firsts.entrySet()) {
                List<Hit> hits = index.find(one.getKey(), 0, 10).getHits();
                assertTrue(!hits.isEmpty() && hits.get(0).getMovie() == one.getValue(), one + ": " + hits);
            }
            check(index, "the life of ", "[1] of 1");
        }
    }

    private static void check(FilmIndex index, String text, String expected) throws IOException {
        Hits found = index.find(text, 0, 10);
        assertEquals(expected, found.getHits().stream().map(Hit::getMovie).toList() + " of " + found.getAll(), text);
    }

    @Test
    void aCatalogueThatIsNoneNamesTheLine() throws IOException {
        for (String text : List.of("1\ta\t\n", "x\ta\t1\tb\tc\td\n", "1\ta\tx\tb\tc\td\n", "0\ta\t1\tb\tc\td\n", CATALOGUE + "5\ta\t1\tb\tc\td\n")) {
            IOException error = assertThrows(IOException.class, () -> FilmIndex.make(file("bad.tsv", text), new ByteBuffersDirectory()));
            assertTrue(error.getMessage().contains("bad.tsv:" + text.lines().count() + ": "), error.getMessage());
        }
    }

    @Test
    void advertisementsAreThoseOfTheGenreAndThenOfTheTaste() throws IOException, TException {
        Path model = file("1.ads", """
                {"version": 1, "ads": [
                  {"ad": 1, "text": "Teeth", "link": "/1", "genre": "Horror", "weights": [1.0, 0.0]},
                  {"ad": 2, "text": "Claws", "link": "/2", "genre": "Horror", "weights": [0.0, 1.0]},
                  {"ad": 3, "text": "Sails", "link": "/3", "genre": "Drama", "weights": [0.0, 1.0]}]}""");
        Advertisements ads = Advertisements.read(model);
        Map<Long, String> genres = Advertisements.genres(file("catalogue.tsv", CATALOGUE));
        AdsHandler.Tastes tastes = (user, movie) -> user == 1 ? new float[] {1, 0} : user == 2 ? new float[] {0, 1} : new float[0];
        AdsHandler handler = new AdsHandler(() -> ads, tastes, genres);
        List<String> picked = List.of("1 2", "1 99", "2 1", "0 2").stream().map(one -> {
            String[] parts = one.split(" ");
            try {
                return handler.pick(Long.parseLong(parts[0]), Long.parseLong(parts[1]), 2).stream().map(ad -> ad.getAd()).toList().toString();
            } catch (TException error) {
                throw new IllegalStateException(error);
            }
        }).toList();
        assertEquals(List.of("[1, 2]", "[1, 2]", "[3, 2]", "[1, 2]"), picked);
        for (String text : List.of("", "{}", "{\"ads\": [{\"ad\": 1}]}", "{\"ads\": [1]}", "{\"ads\": {}}", "[]")) {
            assertThrows(java.io.UncheckedIOException.class, () -> Advertisements.read(file("bad.ads", text)), text);
        }
    }

    @Test
    void picturesComeFromTheCacheAndElseFillIt() throws TException {
        Memory memory = new Memory();
        memory.bytes.put("p:1:0", new byte[] {1});
        memory.bytes.put("p:1:2", new byte[] {3});
        memory.cached.put("photo:1:1", new byte[] {2});
        PhotosHandler photos = new PhotosHandler(memory, memory);
        List<ByteBuffer> expected = List.of(1, 2, 3).stream().map(one -> ByteBuffer.wrap(new byte[] {one.byteValue()})).toList();
        assertEquals(expected, photos.read(1, 4));
        assertEquals(List.of("p:1:0", "p:1:2", "p:1:3"), memory.asked);
        memory.asked.clear();
        assertEquals(expected, photos.read(1, 3));
        assertEquals(List.of(), memory.asked, "from the cache");
    }

    @Test
    void titlesHaveTheKeysOfTheirLowerCase() throws TException {
        Memory memory = new Memory();
        memory.rows.put("titles amélie", "{\"movie\": 5}");
        MovieIdHandler titles = new MovieIdHandler(memory, memory, new ComposeReviewHandler(null, null, null, 0));
        assertEquals(5, titles.upload(42, "AMÉLIE"));
        assertEquals(List.of("amélie"), memory.asked);
        String cached = new String(memory.cached.values().iterator().next(), StandardCharsets.UTF_8);
        assertEquals("{\"movie\": 5}", cached);
    }
}
