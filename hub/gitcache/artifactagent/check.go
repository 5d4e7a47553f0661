package artifactagent

import (
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cosign"
	"github.com/axle-cd/axle/hub/gitcache/upstream/provenance"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// CheckOptions refuses settings that cannot work, before they are stored.
func CheckOptions(r record.Repository) error {
	if r.Options.Proxy != "" {
		if _, err := wire.CheckProxy(r.Options.Proxy); err != nil {
			return err
		}
	}
	if r.Options.Endpoint != "" {
		u, err := url.Parse(r.Options.Endpoint)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return errcode.New(errcode.Invalid, "the endpoint is not a URL; give one like https://s3.example.com")
		}
	}
	if r.Options.PlainHTTP && r.Kind != record.OCI {
		return errcode.New(errcode.Invalid, "plain http is an option of repositories of type oci; others have it in their URL")
	}
	if r.Options.PassCredentials && r.Kind != record.Helm {
		return errcode.New(errcode.Invalid, "passing credentials on is an option of repositories of type helm")
	}
	if err := cloudauth.CheckRegion(r.Options.Region); err != nil {
		return err
	}
	if err := checkHubIdentity(r); err != nil {
		return err
	}
	if r.Options.Verify.Mode == "" {
		return nil
	}
	return checkVerify(r)
}

// checkHubIdentity refuses settings that cannot be combined with the hub's own
// identity, before they are stored.
func checkHubIdentity(r record.Repository) error {
	if !r.Options.HubIdentity {
		return nil
	}
	switch {
	case r.Auth != record.AuthAWS && r.Auth != record.AuthGCP && r.Auth != record.AuthAzure:
		return errcode.New(errcode.Invalid, "the hub's own identity is for authentication aws, gcp or azure")
	case r.Options.Proxy != "":
		return errcode.New(errcode.Invalid, "the hub's own identity does not go through a repository's proxy; leave one of them out")
	case r.Options.PlainHTTP || strings.HasPrefix(r.Options.Endpoint, "http:"):
		return errcode.New(errcode.Invalid, "the hub's own identity does not go over plain http; leave one of them out")
	}
	return nil
}

// Check refuses credentials that cannot work with a repository.
func Check(r record.Repository, c record.Credentials) error {
	if c.ServiceAccountJSON != "" {
		if err := cloudauth.CheckServiceAccount(c.ServiceAccountJSON); err != nil {
			return err
		}
	}
	if _, err := wire.New(wire.Config{CA: c.CA, ClientCertificate: c.ClientCertificate, ClientKey: c.ClientKey}); err != nil {
		return err
	}
	switch r.Auth {
	case record.AuthNone:
		return nil
	case record.AuthAWS, record.AuthGCP, record.AuthAzure:
		return checkCloud(r, c)
	case record.AuthBasic, record.AuthToken, record.AuthBearer:
		if c.Password == "" {
			return errcode.New(errcode.Invalid, "authentication %s needs a password or token", r.Auth)
		}
		return nil
	}
	return errcode.New(errcode.Invalid, "authentication %q is not for repositories of type %s; use basic, token, bearer, aws, gcp or azure", r.Auth, r.Kind)
}

// checkCloud requires the repository's own credentials, or permission to use
// the hub's.
func checkCloud(r record.Repository, c record.Credentials) error {
	own := map[record.AuthKind]string{record.AuthAWS: c.AccessKeyID, record.AuthGCP: c.ServiceAccountJSON, record.AuthAzure: c.ClientSecret}[r.Auth] != ""
	switch {
	case own && r.Options.HubIdentity:
		return errcode.New(errcode.Invalid, "the repository has credentials and is given the hub's own identity; leave one of them out")
	case own:
		return nil
	case !r.Options.HubIdentity:
		return errcode.New(errcode.Invalid, "authentication %s needs credentials; without them the hub's own identity is used, which an administrator gives with --hub-identity", r.Auth)
	case c.CA != "" || c.ClientCertificate != "":
		return errcode.New(errcode.Invalid, "the hub's own identity does not go with an authority or a certificate of a repository; leave one of them out")
	}
	return nil
}

func checkVerify(r record.Repository) error {
	want := map[record.Kind]string{record.Helm: "provenance", record.OCI: "cosign"}[r.Kind]
	switch {
	case want == "":
		return errcode.New(errcode.Invalid, "content of repositories of type %s cannot be verified; leave verification out", r.Kind)
	case r.Options.Verify.Mode != want && (r.Kind != record.OCI || r.Options.Verify.Mode != "provenance"):
		return errcode.New(errcode.Invalid, "verification %q is not for repositories of type %s; use %s", r.Options.Verify.Mode, r.Kind, want)
	case len(r.Options.Verify.Keys) == 0:
		return errcode.New(errcode.Invalid, "verification needs trusted public keys; give at least one")
	}
	if r.Options.Verify.Mode == "cosign" {
		_, err := cosign.ParseKeys(r.Options.Verify.Keys)
		return err
	}
	_, err := provenance.ParseKeys(r.Options.Verify.Keys)
	return err
}
