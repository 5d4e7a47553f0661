package identity

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// proofLifetime is how long a proof counts, such as a password or a passkey.
const proofLifetime = 10 * time.Minute

// ErrProve is returned to a session that asks for something lasting when its person
// gave no proof within proofLifetime: a copied cookie must not be enough for that.
var ErrProve = errcode.New(errcode.Forbidden, "this needs your password or passkey again, from the last %d minutes: open /login/again in the browser, then repeat it", int(proofLifetime.Minutes()))

// Proved returns nil when the person of a session has shown a password or a
// passkey in the last ten minutes, or has logged in again at the provider;
// otherwise ErrProve. Callers with a token need no proof, because tokens that
// they create end with their token.
func (d *Directory) Proved(ctx context.Context, by Principal) error {
	at, err := d.ProvedAt(ctx, by)
	return fresh(by, at, d.now(), err)
}

// ProvedForCLI is Proved for allowing a command line, whose token ends with the
// session: a login is enough as proof, even where the provider asked for no
// credentials.
func (d *Directory) ProvedForCLI(ctx context.Context, by Principal) error {
	at, err := d.ProvedAt(ctx, by)
	if err != nil {
		return err
	}
	t, err := d.stores.Index.Token(ctx, by.TokenID)
	return fresh(by, max(at, t.CreatedAt), d.now(), err)
}

func fresh(by Principal, at, now int64, err error) error {
	if err == nil && by.Session && now-at > proofLifetime.Microseconds() {
		return ErrProve
	}
	return err
}

// ProvedAt returns when the person of a session last gave a proof, 0 when that
// is unknown.
func (d *Directory) ProvedAt(ctx context.Context, by Principal) (int64, error) {
	at, err := d.stores.Proofs.ProvedAt(ctx, by.TokenID)
	if errcode.Is(err, errcode.NotFound) {
		return 0, nil
	}
	return at, err
}
