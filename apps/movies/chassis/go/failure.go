package chassis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"movies/idl"
)

// DeadlineSpent says that the request's time is used up.
type DeadlineSpent string

func (e DeadlineSpent) Error() string { return "deadline: " + string(e) }

// Unavailable says that a service or store which is needed did not answer.
type Unavailable string

func (e Unavailable) Error() string { return "unavailable: " + string(e) }

// Overloaded says that a service which is called, or one behind it, takes no more; it begins with that one's name.
type Overloaded string

func (e Overloaded) Error() string { return "overloaded: " + string(e) }

// connectionLost allows the same question on another connection.
type connectionLost struct{ error }

// Refuse is the answer that a method did nothing.
func Refuse(code idl.Code, format string, values ...any) *idl.Refused {
	return &idl.Refused{Code: code, What: fmt.Sprintf(format, values...)}
}

type outcome uint8

const (
	ok outcome = iota
	refused
	failed
	deadline
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return ok
	case errors.As(err, new(*idl.Refused)):
		return refused
	case errors.As(err, new(DeadlineSpent)), isTimeout(err):
		return deadline
	}
	return failed
}

// isTimeout is for errors of sockets and of the database, too.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// answeredBy is the error that a callee's application exception stands for.
func answeredBy(callee, what string) error {
	if strings.HasPrefix(what, "deadline: ") {
		return DeadlineSpent(callee + ": " + what)
	}
	// The prefix tells the caller that a later try may succeed.
	if why, is := strings.CutPrefix(what, "overloaded: "); is {
		return Overloaded(callee + ": " + why)
	}
	return Unavailable(callee + ": " + what)
}
