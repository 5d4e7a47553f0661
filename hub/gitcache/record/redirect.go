package record

import (
	"context"
	"strconv"

	"github.com/axle-cd/axle/internal/errcode"
)

// Secret reports whether the credentials hold a secret. Names, ids and trusted
// certificates are not secret.
func (c Credentials) Secret() bool {
	for _, secret := range []string{
		c.Password, c.PrivateKey, c.Passphrase, c.ClientKey, c.ProxyPassword, c.SecretAccessKey, c.SessionToken, c.ServiceAccountJSON, c.ClientSecret,
	} {
		if secret != "" {
			return true
		}
	}
	return false
}

// KeepsSecret returns Invalid, with the field, when a change of a repository
// would send the stored credentials somewhere else, or show them to another
// party on the way. Whoever changes the address must give the credentials
// again: the right to change a repository does not include the right to learn
// its secrets.
func KeepsSecret(before, after Repository, kept Credentials) error {
	field := Redirected(before, after)
	if field == "" || !kept.Secret() {
		return nil
	}
	return errcode.New(errcode.Invalid, "%s: changes where the credentials of repository %q go; give them again in the same call, or forget them with: axle repos update %s --auth none", field, before.Name, before.Name)
}

// Redirected returns the first field by which a change reads a repository from somewhere
// else, or through somebody else; empty when there is none.
func Redirected(before, after Repository) string {
	a, b := before.Options, after.Options
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"url", !before.IsAt(after.URL)},
		{"options.proxy", a.Proxy != b.Proxy},
		{"options.apiUrl", a.APIURL != b.APIURL},
		{"options.region", a.Region != b.Region},
		{"options.endpoint", a.Endpoint != b.Endpoint},
		{"options.plainHttp", a.PlainHTTP != b.PlainHTTP},
		{"options.passCredentials", b.PassCredentials && !a.PassCredentials},
	} {
		if field.differs {
			return field.name
		}
	}
	return ""
}

type guardKey struct{}

// Guard decides whether the caller may read a repository from somewhere else; field is
// what they change. It runs in the transaction of the change.
type Guard func(ctx context.Context, field string) error

// Guarded returns a context in which the guard decides about such changes. Without one,
// the hub itself makes them.
func Guarded(ctx context.Context, guard Guard) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// GuardOf returns the guard of a context, nil for none.
func GuardOf(ctx context.Context) Guard {
	guard, _ := ctx.Value(guardKey{}).(Guard)
	return guard
}

// Moved returns the repository with the right Moves after a change from before.
func (r Repository) Moved(before Repository) Repository {
	if r.Options.Moves = before.Options.Moves; !before.IsAt(r.URL) {
		r.Options.Moves++
	}
	return r
}

// Copy returns the name of what replicas store on disk for a repository. It is
// the ID, with another name after each change of the URL.
func (r Repository) Copy() string {
	if r.Options.Moves == 0 {
		return r.ID
	}
	return r.ID + "." + strconv.FormatInt(r.Options.Moves, 10)
}
