package artifactagent

import (
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
)

// Check refuses a repository whose settings cannot work, before it is stored.
func Check(r record.Repository, c record.Credentials) error {
	if r.Options.Verify.Mode != "" {
		if err := checkVerify(r); err != nil {
			return err
		}
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
	return nil
}
