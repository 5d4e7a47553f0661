package console_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestOptionsOfARepository checks that settings are returned unchanged, that a
// change of options keeps the credentials, and that secrets are never returned.
func TestOptionsOfARepository(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	options := &hubv1.RepositoryOptions{Proxy: "http://proxy.example.com:3128", PassCredentials: true, MaxBytes: 7}
	made := must(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "charts", Type: "helm", Url: "https://charts.example.com/stable",
		Auth: "bearer", Credentials: &hubv1.RepositoryCredentials{Password: "the-token"}, Options: options})
	if diff := cmp.Diff(options, made.GetOptions(), protocmp.Transform()); diff != "" || made.GetAuth() != "bearer" || made.GetType() != "helm" {
		t.Errorf("auth %q, options (-want +got):\n%s", made.GetAuth(), diff)
	}
	refused(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "charts", Options: &hubv1.RepositoryOptions{MaxBytes: 8}}, errcode.Invalid, "options.proxy: ")
	options.MaxBytes = 8
	made = must(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "charts", Options: options})
	if diff := cmp.Diff(options, made.GetOptions(), protocmp.Transform()); diff != "" || made.GetAuth() != "bearer" {
		t.Errorf("auth %q, options (-want +got):\n%s", made.GetAuth(), diff)
	}
	made = must(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "charts", Auth: "none"})
	if diff := cmp.Diff(options, made.GetOptions(), protocmp.Transform()); diff != "" || made.GetAuth() != "none" {
		t.Errorf("auth %q, options (-want +got):\n%s", made.GetAuth(), diff)
	}
	made = must(t, b.repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "charts", Url: "https://charts.example.com/moved/"})
	if made.GetUrl() != "https://charts.example.com/moved/" || made.GetAuth() != "none" || made.GetOptions().GetMaxBytes() != 8 {
		t.Errorf("after another URL alone: %v", made)
	}
	refused(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "x", Type: "oci", Url: "oci://ghcr.io/acme", Auth: "magic"}, errcode.Invalid, "is not known")
	refused(t, b.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "x", Type: "oci", Url: "https://ghcr.io/acme"}, errcode.Invalid, "scheme")
}
