package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	chassis "movies/chassis/go"
	"movies/idl"
)

// Limits are from the contract of the application. Units: bytes.
const (
	leastPassword = 8
	mostPassword  = 72 // Bytes that bcrypt uses.
)

// startBalance pays for some five rentals; a user adds more. Users of the data set begin with 1 000 000.00, which no load spends. Units: cents.
const startBalance = 2_000

// name matches valid names: ASCII, so that two names never look the same; lower case decides whether one is taken.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,31}$`)

type handler struct {
	chassis.Base
	store     *chassis.Store
	reviews   *chassis.Upstream
	tokens    *chassis.Tokens
	passwords *passwords
}

// Documents of `users` and `names`.
type (
	account struct {
		User         int64  `json:"user"`
		Name         string `json:"name"`
		Hash         string `json:"hash"`
		BalanceCents int64  `json:"balance_cents"`
	}
	owner struct {
		User int64 `json:"user"`
	}
)

// SignUp stores the account first and then who has the name, so that a name always leads to an account.
func (h *handler) SignUp(ctx context.Context, given, password string) (idl.UserId, error) {
	if !name.MatchString(given) {
		return 0, chassis.Refuse(idl.Code_BAD_REQUEST,
			"a name has 2 to 32 letters, digits, `.`, `_` or `-` of ASCII and begins with a letter or digit; it has %d bytes", len(given))
	}
	if n := len(password); n < leastPassword || n > mostPassword {
		return 0, chassis.Refuse(idl.Code_BAD_REQUEST, "a password has %d to %d bytes, and not %d", leastPassword, mostPassword, n)
	}
	id := strings.ToLower(given)
	if taken, err := h.store.Get(ctx, "names", id, &owner{}); err != nil || taken {
		return 0, orTaken(err, given)
	}
	hash, err := h.passwords.hash(password)
	if err != nil {
		return 0, err
	}
	user, err := h.store.Next(ctx, "user_ids")
	if err != nil {
		return 0, err
	}
	key := strconv.FormatInt(user, 10)
	if _, err := h.store.Insert(ctx, "users", key, account{user, given, hash, startBalance}); err != nil {
		return 0, err
	}
	if first, err := h.store.Insert(ctx, "names", id, owner{user}); err != nil || first {
		return idl.UserId(user), err
	}
	// Another was faster, or this insert was made twice because the answer to the first was lost.
	var has owner
	if _, err := h.store.Get(ctx, "names", id, &has); err != nil || has.User == user {
		return idl.UserId(user), err
	}
	return 0, orTaken(h.store.Delete(ctx, "users", key), given)
}

func orTaken(err error, given string) error {
	if err != nil {
		return err
	}
	return chassis.Refuse(idl.Code_CONFLICT, "the name %s is taken", given)
}

// Login says neither by its answer nor by its time whether a name exists.
func (h *handler) Login(ctx context.Context, given, password string) (*idl.Token, error) {
	a, err := h.accountOf(ctx, given)
	if err != nil {
		return nil, err
	}
	if len(password) > mostPassword || !h.passwords.check(a.Hash, password) {
		return nil, chassis.Refuse(idl.Code_UNAUTHORIZED, "the name or the password is wrong")
	}
	expires := time.Now().Add(chassis.TokenLife).Unix()
	return &idl.Token{Token: h.tokens.Make(a.User, expires), User: idl.UserId(a.User), ExpiresS: expires}, nil
}

// accountOf returns the account of a name, empty if unknown.
func (h *handler) accountOf(ctx context.Context, given string) (account, error) {
	var a account
	var o owner
	if !name.MatchString(given) {
		return a, nil
	}
	if _, err := h.store.Get(ctx, "names", strings.ToLower(given), &o); err != nil {
		return a, err
	}
	// Asked for an unknown name, too, whose user 0 does not exist, so that it takes as long.
	_, err := h.store.Get(ctx, "users", strconv.FormatInt(o.User, 10), &a)
	return a, err
}

// Upload is the part of a review that says whose it is.
func (h *handler) Upload(ctx context.Context, request idl.RequestId, token string) (idl.UserId, error) {
	user, err := h.tokens.User(token, time.Now())
	if err != nil {
		return 0, err
	}
	// A generated client remembers its last answer, so that each call needs its own.
	_, err = idl.NewComposeReviewClient(h.reviews).Put(chassis.WithReplica(ctx, int64(request)), request, &idl.Part{Kind: idl.PartKind_USER, Number: user})
	return idl.UserId(user), err
}
