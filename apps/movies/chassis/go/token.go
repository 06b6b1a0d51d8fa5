package chassis

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"movies/idl"
)

// TokenLife is from the contract of the application.
const TokenLife = 24 * time.Hour

var tokenForm = regexp.MustCompile(`^(([1-9][0-9]{0,18})\.([1-9][0-9]{0,18})\.[0-9a-f]{16})\.([0-9a-f]{64})$`)

// Tokens makes and reads proofs of a login: USER.EXPIRY.NONCE.HMAC, which any service that has the secret checks by itself. By the
// nonce two logins of a user in one second have two tokens.
type Tokens struct{ secret []byte }

// NewTokens fails if the configuration has no secret.
func NewTokens(c *Config) (*Tokens, error) {
	secret, err := hex.DecodeString(c.Secret)
	if err != nil || len(secret) == 0 {
		return nil, errors.New("`secret` takes 64 hex digits, which are needed for tokens")
	}
	return &Tokens{secret}, nil
}

// Make makes a token with a nonce of its own. Units of the expiry: s since 1970. Errors: the system has no random bytes.
func (t *Tokens) Make(user, expires int64) (string, error) {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return "", err
	}
	return t.with(user, expires, hex.EncodeToString(nonce[:])), nil
}

func (t *Tokens) with(user, expires int64, nonce string) string {
	text := fmt.Sprintf("%d.%d.%s", user, expires, nonce)
	return text + "." + t.mac(text)
}

// Parts are the user and the expiry of a token. Errors: *idl.Refused.
func (t *Tokens) Parts(token string, now time.Time) (user, expires int64, err error) {
	parts := tokenForm.FindStringSubmatch(token)
	if parts == nil || !hmac.Equal([]byte(t.mac(parts[1])), []byte(parts[4])) {
		return 0, 0, Refuse(idl.Code_UNAUTHORIZED, "this is not a token that was given out here")
	}
	user, err = strconv.ParseInt(parts[2], 10, 64)
	expires, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err != nil || err2 != nil || expires <= now.Unix() {
		return 0, 0, Refuse(idl.Code_UNAUTHORIZED, "the token has expired; log in again")
	}
	return user, expires, nil
}

func (t *Tokens) mac(text string) string {
	mac := hmac.New(sha256.New, t.secret)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}
