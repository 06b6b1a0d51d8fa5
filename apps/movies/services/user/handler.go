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

// Of a name that is none, and of an address of IPv6 with its zone. Units: bytes.
const (
	mostName   = 64
	mostSource = 64
)

// endToken also removes the tokens of the user that have expired since.
const endToken = `
WITH old AS (DELETE FROM ended WHERE id > $3 AND id < $4 AND (doc->>'expires_s')::bigint < $5)
INSERT INTO ended (id, doc) VALUES ($1, $2) ON CONFLICT DO NOTHING`

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
	throttle  *throttle
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
	// ending is a document of `ended`.
	ending struct {
		ExpiresS int64 `json:"expires_s"`
	}
)

// SignUp stores the account first and then who has the name, so that a name always leads to an account.
func (h *handler) SignUp(ctx context.Context, given, password, source string) (idl.UserId, error) {
	if !name.MatchString(given) {
		return 0, chassis.Refuse(idl.Code_BAD_REQUEST,
			"a name has 2 to 32 letters, digits, `.`, `_` or `-` of ASCII and begins with a letter or digit; it has %d bytes", len(given))
	}
	if n := len(password); n < leastPassword || n > mostPassword {
		return 0, chassis.Refuse(idl.Code_BAD_REQUEST, "a password has %d to %d bytes, and not %d", leastPassword, mostPassword, n)
	}
	if len(source) > mostSource {
		return 0, chassis.Refuse(idl.Code_BAD_REQUEST, "the source has %d bytes, and may have %d", len(source), mostSource)
	}
	if wait := h.throttle.signUp(source, time.Now()); wait > 0 {
		return 0, chassis.Refuse(idl.Code_TOO_MANY, "too many sign-ups; try again in %d s", int(wait.Seconds())+1)
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
func (h *handler) Login(ctx context.Context, given, password, source string) (*idl.Token, error) {
	account := strings.ToLower(given)
	if len(given) > mostName || len(source) > mostSource {
		return nil, chassis.Refuse(idl.Code_BAD_REQUEST, "the name has %d bytes and the source %d, and may have %d and %d", len(given), len(source), mostName, mostSource)
	}
	if wait := h.throttle.begin(account, source, time.Now()); wait > 0 {
		return nil, chassis.Refuse(idl.Code_TOO_MANY, "too many wrong passwords; try again in %d s", int(wait.Seconds())+1)
	}
	a, err := h.accountOf(ctx, given)
	if err != nil {
		h.throttle.unchecked(account, source)
		return nil, err
	}
	if len(password) > mostPassword || !h.passwords.check(a.Hash, password) {
		h.throttle.failed(account, source, time.Now())
		return nil, chassis.Refuse(idl.Code_UNAUTHORIZED, "the name or the password is wrong")
	}
	h.throttle.succeeded(account, source)
	expires := time.Now().Add(chassis.TokenLife).Unix()
	token, err := h.tokens.Make(a.User, expires)
	if err != nil {
		return nil, err
	}
	return &idl.Token{Token: token, User: idl.UserId(a.User), ExpiresS: expires}, nil
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

// Logout ends a token. The row is kept until the user's next log-out after the token's expiry.
func (h *handler) Logout(ctx context.Context, token string) error {
	user, expires, err := h.tokens.Parts(token, time.Now())
	if err != nil {
		return err
	}
	key := strconv.FormatInt(user, 10)
	_, err = h.store.Update(ctx, key, endToken, tokenID(token), ending{expires}, key+"#", key+"$", time.Now().Unix())
	return err
}

// Check is the user of a token that was not ended.
func (h *handler) Check(ctx context.Context, token string) (idl.UserId, error) {
	user, _, err := h.tokens.Parts(token, time.Now())
	if err != nil {
		return 0, err
	}
	if ended, err := h.store.Get(ctx, "ended", tokenID(token), &ending{}); err != nil || ended {
		return 0, orEnded(err)
	}
	return idl.UserId(user), nil
}

func orEnded(err error) error {
	if err != nil {
		return err
	}
	return chassis.Refuse(idl.Code_UNAUTHORIZED, "the token was ended by a log-out; log in again")
}

// tokenID is the key of a token, which has been checked, among those that were ended.
func tokenID(token string) string {
	return strings.ReplaceAll(token[:strings.LastIndexByte(token, '.')], ".", "#")
}

// Upload is the part of a review that says whose it is.
func (h *handler) Upload(ctx context.Context, request idl.RequestId, token string) (idl.UserId, error) {
	user, err := h.Check(ctx, token)
	if err != nil {
		return 0, err
	}
	// A generated client remembers its last answer, so that each call needs its own.
	_, err = idl.NewComposeReviewClient(h.reviews).Put(chassis.WithReplica(ctx, int64(request)), request, &idl.Part{Kind: idl.PartKind_USER, Number: int64(user)})
	return idl.UserId(user), err
}
