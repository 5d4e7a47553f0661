package artifactagent

import (
	"net/url"

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
			return errcode.New(errcode.Invalid, "the endpoint is no URL; give one like https://s3.example.com")
		}
	}
	if r.Options.PlainHTTP && r.Kind != record.OCI {
		return errcode.New(errcode.Invalid, "plain http is an option of repositories of type oci; others say it in their URL")
	}
	if r.Options.PassCredentials && r.Kind != record.Helm {
		return errcode.New(errcode.Invalid, "passing credentials on is an option of repositories of type helm")
	}
	if r.Options.Verify.Mode == "" {
		return nil
	}
	return checkVerify(r)
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
	case record.AuthNone, record.AuthAWS, record.AuthGCP, record.AuthAzure:
		return nil
	case record.AuthBasic, record.AuthToken, record.AuthBearer:
		if c.Password == "" {
			return errcode.New(errcode.Invalid, "authentication %s needs a password or token", r.Auth)
		}
		return nil
	}
	return errcode.New(errcode.Invalid, "authentication %q is not for repositories of type %s; use basic, token, bearer, aws, gcp or azure", r.Auth, r.Kind)
}

func checkVerify(r record.Repository) error {
	want := map[record.Kind]string{record.Helm: "provenance", record.OCI: "cosign"}[r.Kind]
	switch {
	case want == "":
		return errcode.New(errcode.Invalid, "content of repositories of type %s cannot be verified; leave verification out", r.Kind)
	case r.Options.Verify.Mode != want && (r.Kind != record.OCI || r.Options.Verify.Mode != "provenance"):
		return errcode.New(errcode.Invalid, "verification %q is not for repositories of type %s; use %s", r.Options.Verify.Mode, r.Kind, want)
	case len(r.Options.Verify.Keys) == 0:
		return errcode.New(errcode.Invalid, "verification needs the public keys that are trusted")
	}
	if r.Options.Verify.Mode == "cosign" {
		_, err := cosign.ParseKeys(r.Options.Verify.Keys)
		return err
	}
	_, err := provenance.ParseKeys(r.Options.Verify.Keys)
	return err
}
