// Command movies-user signs users up and in.
package main

import (
	"os"

	chassis "movies/chassis/go"
	"movies/idl"
)

func main() { os.Exit(chassis.Run("user", wire, "hash_cost")) }

func wire(s *chassis.Service) (chassis.Processor, error) {
	store, err := s.Store("users")
	if err != nil {
		return nil, err
	}
	reviews, err := s.Upstream("compose-review")
	if err != nil {
		return nil, err
	}
	tokens, err := chassis.NewTokens(s.Config)
	if err != nil {
		return nil, err
	}
	passwords, err := newPasswords(s.Config)
	if err != nil {
		return nil, err
	}
	return idl.NewUserProcessor(&handler{chassis.Base{Service: s}, store, reviews, tokens, passwords, newThrottle()}), nil
}
