package chassis

import (
	"fmt"
	"slices"
)

// row holds the numbers by which spans name a service or a store.
type row struct {
	id      uint16
	methods []string
}

// The services in Go, their callees, and their stores. Source: the registry of the application.
var registry = map[string]row{
	"compose-review": {23, []string{"put"}},
	"update-movie":   {27, []string{"apply"}},
	"user":           {28, []string{"signUp", "login", "logout", "check", "upload"}},
	"movies-cache":   {32, nil},
	"movies-db":      {33, nil},
	"users-db":       {37, nil},
}

func rowOf(name string) (row, error) {
	r, known := registry[name]
	if !known {
		return row{}, fmt.Errorf("`%s` is not a service or store that the registry of Go has", name)
	}
	return r, nil
}

// methodOf is -1 for methods of the chassis and for unknown ones.
func methodOf(service, method string) int { return slices.Index(registry[service].methods, method) }
