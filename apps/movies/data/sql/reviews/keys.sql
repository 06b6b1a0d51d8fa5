-- After the rows: a key that is built at once is smaller, and made sooner, than one that grows.
ALTER TABLE reviews ADD PRIMARY KEY (id);
ALTER TABLE movie_reviews ADD PRIMARY KEY (id);
ALTER TABLE listed ADD PRIMARY KEY (id);
ANALYZE;
