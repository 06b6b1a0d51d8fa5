-- Loads the tables beside this file into an empty database:  psql -X -v folder=OUT/movies -f OUT/movies/load.sql
-- It is one transaction that makes its tables, so that rows are not written to the log as well (wal_level = minimal).
\set ON_ERROR_STOP on
\cd :folder
BEGIN;
\i schema.sql
\copy movies FROM 'movies.tsv'
\copy plots FROM 'plots.tsv'
\copy persons FROM 'persons.tsv'
\copy ratings FROM 'ratings.tsv'
\copy rated FROM 'rated.tsv'
\copy titles FROM 'titles.tsv'
\copy pictures FROM 'pictures.tsv'
COMMIT;
VACUUM (ANALYZE) movies, plots, persons, ratings, rated, titles, pictures;
