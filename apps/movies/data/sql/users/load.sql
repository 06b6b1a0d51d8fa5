-- Loads the tables beside this file into an empty database:  psql -X -v folder=OUT/users -f OUT/users/load.sql
-- It is one transaction that makes its tables, so that rows are not written to the log as well (wal_level = minimal).
\set ON_ERROR_STOP on
\cd :folder
BEGIN;
\i schema.sql
\copy users FROM 'users.tsv'
\copy names FROM 'names.tsv'
\copy charges FROM 'charges.tsv'
\copy rentals FROM 'rentals.tsv'
\copy user_reviews FROM 'user_reviews.tsv'
\copy listed FROM 'listed.tsv'
\copy seen FROM 'seen.tsv'
COMMIT;
VACUUM (ANALYZE) users, names, charges, rentals, user_reviews, listed, seen;
