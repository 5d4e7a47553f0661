package registry_test

import (
	"net/http"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/registry"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/test/registryserver"
)

// withoutDigest drops the header from answers.
type withoutDigest struct{ http.ResponseWriter }

func (w withoutDigest) WriteHeader(status int) {
	w.Header().Del("Docker-Content-Digest")
	w.ResponseWriter.WriteHeader(status)
}

// TestRegistriesWithoutHEADAreRead has registries that leave out what the specification lets
// them leave out, or more.
func TestRegistriesWithoutHEADAreRead(t *testing.T) {
	for name, fault := range map[string]func(next http.Handler) http.Handler{
		"as they should be": func(next http.Handler) http.Handler { return next },
		"no digest": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(withoutDigest{w}, r) })
		},
		"HEAD is not allowed": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				next.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := registryserver.Start(false)
			t.Cleanup(s.Close)
			want, err := s.Push("team/app", "1.0.0", registryserver.Artifact{ConfigType: "application/vnd.example", Layers: []registryserver.Layer{{Type: "text/plain", Data: []byte("a")}}})
			if err != nil {
				t.Fatal(err)
			}
			s.HTTP().Config.Handler = fault(s.HTTP().Config.Handler)
			client, err := wire.New(wire.Config{AllowHTTP: true, Dialer: &wire.Anywhere{}})
			if err != nil {
				t.Fatal(err)
			}
			r := registry.New(registry.Config{Host: s.Host(), PlainHTTP: true, Client: client})
			d, err := r.Resolve(t.Context(), "team/app", "1.0.0")
			if err != nil || d.Digest.String() != want {
				t.Fatalf("%v, %v; want %s", d.Digest, err, want)
			}
			if _, err := r.Manifest(t.Context(), "team/app", d); err != nil {
				t.Error(err)
			}
		})
	}
}
