package movies.handlers;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import movies.idl.Hit;
import movies.idl.Hits;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.IndexableField;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.Directory;

/** Films by their words, in the order of their numbers, so that documents are ordered by rank. It may be used by many threads. */
public final class FilmIndex implements Closeable {
    /** Frequency of words counts less than Lucene has it, and length of documents, too. Source: Xapian's defaults, BM25Weight. */
    private static final float K1 = 1;
    private static final float B = 0.5f;
    private static final int FIELDS = 6;
    private static final String MOVIE = "movie";
    private static final String YEAR = "year";
    private static final String NAME = "name";

    private final DirectoryReader reader;
    private final IndexSearcher searcher;
    /** Of each document, in their order. */
    private final List<Hit> films = new ArrayList<>();
    private final Map<Long, Hit> byMovie = new HashMap<>();

    /** Errors: the index is missing or unreadable. */
    public FilmIndex(Directory directory) throws IOException {
        reader = DirectoryReader.open(directory);
        searcher = new IndexSearcher(reader);
        searcher.setSimilarity(similarity());
        for (int at = 0; at < reader.maxDoc(); at++) {
            Document document = searcher.storedFields().document(at);
            IndexableField movie = document.getField(MOVIE);
            Hit film = new Hit(movie.numericValue().longValue(), document.get(NAME), document.getField(YEAR).numericValue().intValue(), 0);
            films.add(film);
            byMovie.put(film.getMovie(), film);
        }
    }

    /**
     * Makes the index from a catalogue: lines of film, title, year, genre, director and plot, between which are tabs. Returns how many films
     * it has. Errors: `IOException`, which names the line.
     */
    public static int make(Path catalogue, Directory directory) throws IOException {
        IndexWriterConfig config = new IndexWriterConfig(new Words()).setOpenMode(IndexWriterConfig.OpenMode.CREATE);
        config.setSimilarity(similarity());
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            List<String> lines = Files.readAllLines(catalogue);
            List<Document> documents = new ArrayList<>(lines.size());
            long before = 0;
            for (int at = 0; at < lines.size(); at++) {
                try {
                    Document document = document(lines.get(at), before);
                    before = document.getField(MOVIE).numericValue().longValue();
                    documents.add(document);
                } catch (IllegalArgumentException error) {
                    throw new IOException(catalogue + ":" + (at + 1) + ": " + error.getMessage());
                }
            }
            writer.addDocuments(documents);
            writer.forceMerge(1);
            return documents.size();
        }
    }

    private static Similarity similarity() {
        return new BM25Similarity(K1, B);
    }

    private static Document document(String line, long before) {
        String[] fields = line.split("\t", -1);
        if (fields.length != FIELDS) {
            throw new IllegalArgumentException("has " + fields.length + " fields, and takes " + FIELDS);
        }
        long movie = number(fields[0]);
        if (movie <= before) {
            throw new IllegalArgumentException("has film " + movie + " behind " + before + ", and films are in their order, from 1 on");
        }
        Document document = new Document();
        document.add(new StoredField(MOVIE, movie));
        document.add(new StoredField(NAME, fields[1]));
        document.add(new StoredField(YEAR, fields[2].isEmpty() ? 0 : (int) number(fields[2])));
        String title = fields[1] + " " + Words.numbersOf(fields[1]);
        document.add(new TextField(Words.TITLE, Words.fold(title), Field.Store.NO));
        String all = String.join(" ", title, fields[2], fields[3], fields[4], fields[5]);
        document.add(new TextField(Words.ALL, Words.fold(all), Field.Store.NO));
        return document;
    }

    private static long number(String text) {
        if (!text.matches("[0-9]{1,9}")) {
            throw new IllegalArgumentException("`" + text + "` is not a number");
        }
        return Long.parseLong(text);
    }

    /** Best matches first; without words all films by rank. */
    Hits find(String text, int start, int n) throws IOException {
        if (text.isBlank()) {
            int from = Math.min(start, films.size());
            return new Hits(List.copyOf(films.subList(from, Math.min(films.size(), from + n))), films.size());
        }
        Query words = Words.query(text);
        List<Hit> hits = new ArrayList<>(n);
        // No more are kept than there are films.
        int last = Math.min(start + n, Math.max(1, films.size()));
        ScoreDoc[] found = n == 0 ? new ScoreDoc[0] : searcher.search(words, Math.max(1, last)).scoreDocs;
        for (int at = start; at < found.length; at++) {
            Hit film = films.get(found[at].doc);
            hits.add(new Hit(film.getMovie(), film.getTitle(), film.getYear(), found[at].score));
        }
        return new Hits(hits, searcher.count(words));
    }

    /** The existing films, in the order of `movies`. */
    List<Hit> titles(List<Long> movies) {
        return movies.stream().map(byMovie::get).filter(film -> film != null).toList();
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }
}
