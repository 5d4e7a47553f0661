package gitcache

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
)

// artifactAgent creates the agent of a repository that is not a Git repository.
func (c *Cache) artifactAgent(r Repository, epoch int64, opened func()) agent {
	return artifactagent.New(artifactagent.Config{Agent: agentConfig(c, r, epoch, opened), Kind: r.Kind, Sink: c.tarballs.node,
		Dir: filepath.Join(c.config.Dir, "artifacts", hashName(r.Copy())), Dialer: &upstream.Dialer{Allow: c.config.AllowUpstreamCIDRs}, AllowHTTP: c.config.AllowHTTP,
		Limits: c.config.Limits, Level: c.config.Level, MaxKept: r.Options.MaxBytes})
}

// settleArtifact is settle for chart repositories, registries and buckets.
func (c *repositories) settleArtifact(r *Repository, creds *Credentials, given bool) error {
	url, user, password, err := artifactURL(r.Kind, r.Written)
	if err != nil || url != r.URL {
		r.Written = strings.TrimSpace(r.URL)
		url, user, password, err = artifactURL(r.Kind, r.Written)
	}
	if err == nil {
		err = holdsSecret(user, password)
	}
	if err != nil {
		return err
	}
	if r.URL = url; strings.HasPrefix(url, "http:") && !c.config.AllowHTTP {
		return errcode.New(errcode.Invalid, "repository URL uses plain http; use https, or start the hub with plain http allowed")
	}
	if err := artifactagent.CheckOptions(*r); err != nil || !given {
		return err
	}
	if creds.Username == "" {
		creds.Username = user
	}
	if r.Auth == record.AuthNone && creds.Password != "" {
		r.Auth = record.AuthBasic
	}
	return artifactagent.Check(*r, *creds)
}

// artifactURL checks a user's URL of a repository that is not a Git repository. It
// returns the form that the hub uses, and what the URL holds beside it.
func artifactURL(kind Kind, raw string) (settled, user, password string, err error) {
	raw = strings.TrimSpace(raw)
	example := map[Kind]string{record.Helm: "https://charts.example.com/stable", record.OCI: "oci://registry.example.com/team/charts",
		record.Bucket: "https://s3.eu-central-1.amazonaws.com/my-bucket"}[kind]
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
		// url.Parse's error quotes the URL, which may hold a password.
		return "", "", "", errcode.New(errcode.Invalid, "repository URL cannot be read; give one like %s", example)
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	schemes := map[Kind]string{record.Helm: "https http", record.OCI: "oci", record.Bucket: "https http s3 gs azblob"}[kind]
	switch {
	case !strings.Contains(" "+schemes+" ", " "+u.Scheme+" "):
		return "", "", "", errcode.New(errcode.Invalid, "repository URL has scheme %.20q; a repository of type %s has a URL like %s", u.Scheme, kind, example)
	case u.RawQuery != "" || u.Fragment != "":
		return "", "", "", errcode.New(errcode.Invalid, "repository URL has a query or fragment; give one like %s", example)
	case strings.Trim(u.Path, "/") == "" && kind == record.OCI:
		return "", "", "", errcode.New(errcode.Invalid, "repository URL names no repository in %s; give one like %s", u.Host, example)
	}
	user = u.User.Username()
	password, _ = u.User.Password()
	u.User = nil
	return strings.TrimRight(u.String(), "/"), user, password, nil
}
