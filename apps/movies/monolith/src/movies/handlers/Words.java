package movies.handlers;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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

    @Override
    protected TokenStreamComponents createComponents(String field) {
        Tokenizer words = new StandardTokenizer();
        TokenStream both = new KeywordRepeatFilter(new LowerCaseFilter(words));
        return new TokenStreamComponents(words, new RemoveDuplicatesTokenFilter(new SnowballFilter(both, new EnglishStemmer())));
    }

    /** Films with any of the words; words in the title weigh more. */
    static Query query(String text) {
        BooleanQuery.Builder any = new BooleanQuery.Builder();
        BooleanQuery.Builder titles = new BooleanQuery.Builder();
        for (String word : stems(text)) {
            any.add(new TermQuery(new Term(ALL, word)), Occur.SHOULD);
            titles.add(new TermQuery(new Term(TITLE, word)), Occur.SHOULD);
        }
        return new BooleanQuery.Builder()
                .add(any.build(), Occur.MUST)
                .add(new BoostQuery(titles.build(), TITLE_WEIGHT), Occur.SHOULD)
                .build();
    }

    /** A word with a capital is looked for as it is, such as a name, and others by their stem. Source: Xapian's STEM_SOME. */
    private static List<String> stems(String text) {
        List<String> stems = new ArrayList<>();
        try (Tokenizer words = new StandardTokenizer()) {
            words.setReader(new StringReader(text));
            CharTermAttribute word = words.addAttribute(CharTermAttribute.class);
            words.reset();
            while (words.incrementToken() && stems.size() < BooleanQuery.getMaxClauseCount() / 4) {
                String lower = word.toString().toLowerCase(Locale.ROOT);
                stems.add(Character.isUpperCase(word.charAt(0)) ? lower : stem(lower));
            }
            words.end();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return stems;
    }

    private static String stem(String word) {
        EnglishStemmer stemmer = new EnglishStemmer();
        stemmer.setCurrent(word);
        stemmer.stem();
        return stemmer.getCurrent();
    }
}
