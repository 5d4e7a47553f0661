package record

import (
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
	if !kept.Secret() {
		return nil
	}
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
			return errcode.New(errcode.Invalid, "%s: changes where the credentials of repository %q go; give them again in the same call, or forget them with: axle repos update %s --auth none", field.name, before.Name, before.Name)
		}
	}
	return nil
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
