package main

import (
	"golang.org/x/crypto/bcrypt"

	chassis "movies/chassis/go"
)

// usualCost is the default, bcrypt's own: about 50 ms of a processor.
const usualCost = bcrypt.DefaultCost

// passwords hashes them, and takes as long for users that do not exist.
type passwords struct {
	cost int
	// Hash of no password, at the configured cost, which the data set and new hashes share.
	dummy []byte
}

func newPasswords(c *chassis.Config) (*passwords, error) {
	cost, err := c.Number("hash_cost", usualCost, bcrypt.MinCost, bcrypt.MaxCost)
	if err != nil {
		return nil, err
	}
	dummy, err := bcrypt.GenerateFromPassword([]byte("no password has this many bytes, since they end at 72"), cost)
	return &passwords{cost, dummy}, err
}

func (p *passwords) hash(password string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), p.cost)
	return string(hash), err
}

// check with an empty hash is false, and takes as long as with another.
func (p *passwords) check(hash, password string) bool {
	known := hash != ""
	if !known {
		hash = string(p.dummy)
	}
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil && known
}
