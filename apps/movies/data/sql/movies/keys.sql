-- After the rows: a key that is built at once is smaller, and made sooner, than one that grows.
ALTER TABLE movies ADD PRIMARY KEY (id);
ALTER TABLE plots ADD PRIMARY KEY (id);
ALTER TABLE persons ADD PRIMARY KEY (id);
ALTER TABLE ratings ADD PRIMARY KEY (id);
ALTER TABLE rated ADD PRIMARY KEY (id);
ALTER TABLE titles ADD PRIMARY KEY (id);
ALTER TABLE pictures ADD PRIMARY KEY (id);
ANALYZE;
