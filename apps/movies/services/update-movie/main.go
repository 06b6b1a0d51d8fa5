// Command movies-update-movie counts the stars of new reviews.
package main

import (
	"os"

	chassis "movies/chassis/go"
	"movies/idl"
)

func main() { os.Exit(chassis.Run("update-movie", wire)) }

func wire(s *chassis.Service) (chassis.Processor, error) {
	store, err := s.Store("movies")
	if err != nil {
		return nil, err
	}
	cache, err := s.Cache("movies")
	if err != nil {
		return nil, err
	}
	return idl.NewUpdateMovieProcessor(&handler{chassis.Base{Service: s}, store, cache}), nil
}
