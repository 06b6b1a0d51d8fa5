package movies.handlers;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.miscellaneous.KeywordRepeatFilter;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.MultiTermQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;
import org.tartarus.snowball.ext.EnglishStemmer;

/** The words of a text, as they are and by their English stems; without operators, so that no text is wrong. */
final class Words extends Analyzer {
    /** The fields of a film. */
    static final String TITLE = "title";
    static final String ALL = "all";
    /** A word in a title tells more of a film than one in its plot. Ours; a title that is the query must come first. */
    private static final float TITLE_WEIGHT = 3;
    /** Words that tell no film from another, as in `services/search/index.cc`. */
    private static final Set<String> STOP_WORDS = Set.of("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "he", "in",
            "is", "it", "its", "of", "on", "or", "she", "that", "the", "they", "to", "was", "with");
    /** Words that the last one may be the beginning of. */
    private static final int MOST_COMPLETIONS = 100;
    /** Letters that are not one with an accent, as people type them. */
    private static final Map<Character, String> LETTERS = Map.ofEntries(Map.entry('\u00df', "ss"), Map.entry('\u00e6', "ae"),
            Map.entry('\u00f0', "d"), Map.entry('\u00f8', "o"), Map.entry('\u00fe', "th"), Map.entry('\u0111', "d"), Map.entry('\u0127', "h"),
            Map.entry('\u0131', "i"), Map.entry('\u0142', "l"), Map.entry('\u0153', "oe"), Map.entry('\u0167', "t"), Map.entry('&', " and "));
    private static final String APOSTROPHES = "'`\u00b4\u02bc\u2018\u2019";
    /** From 2 on. */
    private static final List<String> ROMAN = List.of("II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV",
            "XVI", "XVII", "XVIII", "XIX", "XX");

    @Override
    protected TokenStreamComponents createComponents(String field) {
        Tokenizer words = new StandardTokenizer();
        TokenStream both = new KeywordRepeatFilter(new LowerCaseFilter(words));
        return new TokenStreamComponents(words, new RemoveDuplicatesTokenFilter(new SnowballFilter(both, new EnglishStemmer())));
    }

    /** The text as it is indexed and searched: Latin letters without accents, words without apostrophes, `&` as `and`. */
    static String fold(String text) {
        StringBuilder out = new StringBuilder();
        for (char c : Normalizer.normalize(text, Normalizer.Form.NFKD).toCharArray()) {
            if (Character.getType(c) != Character.NON_SPACING_MARK && APOSTROPHES.indexOf(c) < 0) {
                String letters = LETTERS.get(Character.toLowerCase(c));
                out.append(letters == null ? String.valueOf(c) : letters);
            }
        }
        return out.toString();
    }

    /** Other ways to write the numbers of a title: `2` for `Part II`, and the reverse. Words with blanks between. */
    static String numbersOf(String title) {
        StringBuilder out = new StringBuilder();
        for (String word : title.split("[^A-Za-z0-9]+")) {
            int roman = ROMAN.indexOf(word);
            if (roman >= 0) {
                out.append(roman + 2).append(' ');
            } else if (word.matches("[1-9][0-9]?") && Integer.parseInt(word) >= 2 && Integer.parseInt(word) < ROMAN.size() + 2) {
                out.append(ROMAN.get(Integer.parseInt(word) - 2)).append(' ');
            }
        }
        return out.toString();
    }

    /** Films with any of the words, of which the last may be the beginning of one; words in the title weigh more. */
    static Query query(String asked) {
        String text = fold(asked);
        BooleanQuery.Builder any = new BooleanQuery.Builder();
        BooleanQuery.Builder titles = new BooleanQuery.Builder();
        for (String word : stems(text)) {
            any.add(new TermQuery(new Term(ALL, word)), Occur.SHOULD);
            titles.add(new TermQuery(new Term(TITLE, word)), Occur.SHOULD);
        }
        String typed = typed(text);
        if (!typed.isEmpty()) {
            any.add(beginning(ALL, typed), Occur.SHOULD);
            titles.add(beginning(TITLE, typed), Occur.SHOULD);
        }
        return new BooleanQuery.Builder()
                .add(any.build(), Occur.MUST)
                .add(new BoostQuery(titles.build(), TITLE_WEIGHT), Occur.SHOULD)
                .build();
    }

    /** The last word, in small letters, if nothing follows it. */
    private static String typed(String text) {
        int from = text.length();
        while (from > 0 && Character.isLetterOrDigit(text.charAt(from - 1))) {
            from--;
        }
        return text.substring(from).toLowerCase(Locale.ROOT);
    }

    private static Query beginning(String field, String word) {
        return new PrefixQuery(new Term(field, word), new MultiTermQuery.TopTermsBlendedFreqScoringRewrite(MOST_COMPLETIONS));
    }

    /** A word with a capital is looked for as it is, such as a name, and others by their stem. Source: Xapian's STEM_SOME. */
    private static List<String> stems(String text) {
        List<String> stems = new ArrayList<>();
        List<String> stopped = new ArrayList<>();
        try (Tokenizer words = new StandardTokenizer()) {
            words.setReader(new StringReader(text));
            CharTermAttribute word = words.addAttribute(CharTermAttribute.class);
            words.reset();
            while (words.incrementToken() && stems.size() < BooleanQuery.getMaxClauseCount() / 4) {
                String lower = word.toString().toLowerCase(Locale.ROOT);
                String looked = Character.isUpperCase(word.charAt(0)) ? lower : stem(lower);
                (STOP_WORDS.contains(lower) ? stopped : stems).add(looked);
            }
            words.end();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        // A title may consist of such words: "It".
        return stems.isEmpty() ? stopped : stems;
    }

    private static String stem(String word) {
        EnglishStemmer stemmer = new EnglishStemmer();
        stemmer.setCurrent(word);
        stemmer.stem();
        return stemmer.getCurrent();
    }
}
