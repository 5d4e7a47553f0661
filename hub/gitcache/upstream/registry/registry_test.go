package registry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
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
		"neither HEAD nor a digest": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusNotImplemented)
					return
				}
				next.ServeHTTP(withoutDigest{w}, r)
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

// TestTagsInSmallPages has a registry that sends 50 tags at a time, whatever it is asked for.
func TestTagsInSmallPages(t *testing.T) {
	for all, want := range map[int]string{3000: "", 10_050: "more than 10000 tags"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			from, _ := strconv.Atoi(r.FormValue("next_page"))
			var page []string
			for i := from; i < min(from+50, all); i++ {
				page = append(page, fmt.Sprintf("1.0.%d", i))
			}
			if from+50 < all {
				w.Header().Set("Link", fmt.Sprintf(`<%s?next_page=%d>; rel="next"`, r.URL.Path, from+50))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "team/app", "tags": page})
		}))
		t.Cleanup(server.Close)
		client, err := wire.New(wire.Config{AllowHTTP: true, Dialer: &wire.Anywhere{}})
		if err != nil {
			t.Fatal(err)
		}
		r := registry.New(registry.Config{Host: server.Listener.Addr().String(), PlainHTTP: true, Client: client})
		tags, err := r.Tags(t.Context(), "team/app")
		if want == "" && (err != nil || len(tags) != all) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d tags: %d are listed, %v", all, len(tags), err)
		}
	}
}
