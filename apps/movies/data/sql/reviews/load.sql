-- Loads the tables beside this file into an empty database:  psql -X -v folder=OUT/reviews -f OUT/reviews/load.sql
-- It is one transaction that makes its tables, so that rows are not written to the log as well (wal_level = minimal).
\set ON_ERROR_STOP on
\cd :folder
BEGIN;
\i schema.sql
\copy reviews FROM 'reviews.tsv'
\copy movie_reviews FROM 'movie_reviews.tsv'
\copy listed FROM 'listed.tsv'
COMMIT;
VACUUM (ANALYZE) reviews, movie_reviews, listed;
