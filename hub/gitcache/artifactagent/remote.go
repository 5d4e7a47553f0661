package artifactagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/scrub"
)

// protocol is an upstream of one kind, as the agent needs it.
type protocol interface {
	// refresh asks what there is now for these sources. An error says that
	// upstream cannot be read; what is wrong with one source alone is told by
	// resolve.
	refresh(ctx context.Context, sources []record.Source) error
	// knows reports whether resolve can tell of these sources without another
	// refresh.
	knows(sources []record.Source) bool
	// resolve says what a source points at, by what refresh read.
	resolve(s record.Source) (target, error)
	// fetch puts the content of a target into dir, checked, and completes what
	// the target says of it.
	fetch(ctx context.Context, t *target, dir string) error
	// recall makes a target out of a recipe, to fetch it once more.
	recall(r record.Recipe) (target, error)
	close()
}

// target is what a source points at.
type target struct {
	// Key changes when the content may have changed.
	Key string
	// Revision is upstream's name for it, for people.
	Revision  string
	Message   string
	Author    string
	CreatedAt time.Time
	// Entry is the folder inside the content where the source lies.
	Entry string
	// Commit and Folder go into the recipe, with the key.
	Commit, Folder string

	url, digest string // for the protocol's own use
	media       string
	size        int64
}

// open makes the client of a repository.
func (c *Config) open(r record.Repository, creds record.Credentials) (protocol, error) {
	// A row may be older than a rule.
	if err := CheckOptions(r); err != nil {
		return nil, err
	}
	client, err := wire.New(wire.Config{Scrub: secretsOf(creds).String, Dialer: c.Dialer, AllowHTTP: c.AllowHTTP, Proxy: r.Options.Proxy,
		ProxyUsername: creds.ProxyUsername, ProxyPassword: creds.ProxyPassword,
		CA: creds.CA, ClientCertificate: creds.ClientCertificate, ClientKey: creds.ClientKey})
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case record.Helm:
		return newCharts(c, r, creds, client)
	case record.OCI:
		return newArtifacts(c, r, creds, client)
	case record.Bucket:
		return newObjects(c, r, creds, client)
	}
	return nil, errcode.New(errcode.Unprocessable, "repository %q is of the kind %q, which this hub does not know", r.Name, r.Kind)
}

// secretsOf takes a repository's secrets out of texts.
func secretsOf(c record.Credentials) *scrub.Scrubber {
	return scrub.New(map[string]string{"password": c.Password, "client key": c.ClientKey, "proxy password": c.ProxyPassword,
		"secret access key": c.SecretAccessKey, "session token": c.SessionToken, "service account": c.ServiceAccountJSON, "client secret": c.ClientSecret})
}

// fingerprint of what content must be signed by; part of each key, so that a
// changed demand looks at the content again.
func fingerprint(v record.Verify) string {
	if v.Mode == "" {
		return "-"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
