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
	// refresh reads the current state for these sources. An error means that
	// upstream cannot be read; resolve returns the errors of single sources.
	refresh(ctx context.Context, sources []record.Source) error
	// knows reports whether resolve works for these sources without another
	// refresh.
	knows(sources []record.Source) bool
	// resolve returns what a source points at, from what refresh read.
	resolve(s record.Source) (target, error)
	// fetch writes the verified content of a target into dir, and completes the
	// target.
	fetch(ctx context.Context, t *target, dir string) error
	// recall converts a recipe into a target, to fetch it again.
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
	// Entry is the source's folder inside the content.
	Entry string
	// Commit and Folder are stored in the recipe, with the key.
	Commit, Folder string

	url, digest string // for the protocol's own use
	// promised is the SHA-256 of a chart in hex, as its repository's index has it.
	promised string
	media    string
	size     int64
}

// place is the content with the folder in it; it differs from every key of content.
func (t target) place() string { return t.Key + "\nfolder " + t.Entry }

// open makes the client of a repository.
func (c *Config) open(r record.Repository, creds record.Credentials) (protocol, error) {
	// The row may be older than a rule.
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
	return nil, errcode.New(errcode.Unprocessable, "repository %q is of the kind %q, which this hub does not support", r.Name, r.Kind)
}

// secretsOf returns a scrubber of a repository's secrets.
func secretsOf(c record.Credentials) *scrub.Scrubber {
	return scrub.New(map[string]string{"password": c.Password, "client key": c.ClientKey, "proxy password": c.ProxyPassword,
		"secret access key": c.SecretAccessKey, "session token": c.SessionToken, "service account": c.ServiceAccountJSON, "client secret": c.ClientSecret})
}

// fingerprint hashes what content must be signed by. It is part of each key, so
// that a changed requirement checks the content again.
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
