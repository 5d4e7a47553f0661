package authproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// largeHead is where a request's line and headers count as large.
	largeHead = 16 << 10
	// largeOfAll, largeOfOne and largeReserve are how many requests with a large head may be under way,
	// those of one caller, and those for administrators: each may hold a megabyte, twice.
	largeOfAll   = 64
	largeOfOne   = 8
	largeReserve = 8
)

// HeadSize is the length of a request's line and headers, about.
func HeadSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

// enter takes a place for a request with a large head; nil for others.
func (p *Proxy) enter(r *http.Request, caller identity.Principal) (*pool.Held, error) {
	if HeadSize(r) <= largeHead {
		return nil, nil
	}
	return p.large.Take(caller.Sharing())
}

// Raw passes requests with a cluster's credential to that cluster, whatever their path:
// kubectl get --raw leaves out the path of the server, so /readyz would be answered by
// the hub, which knows nothing of the cluster.
func (p *Proxy) Raw(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer := bearertoken.Of(r.Header)
		sealed, ofCluster := strings.CutPrefix(bearer, credentialPrefix)
		switch {
		case Owns(r.URL.Path), strings.HasPrefix(r.URL.Path, "/axle."), strings.HasPrefix(r.URL.Path, "/agent/"):
			next.ServeHTTP(w, r)
		case ofCluster:
			under, err := p.under(r, sealed)
			if err != nil {
				harmless(w.Header())
				refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, under)
		case bearer != "" && probe[r.URL.Path] && strings.HasPrefix(r.UserAgent(), "kubectl"):
			// The token is no cluster's, and the hub's own answer would pass for one.
			harmless(w.Header())
			refuse(w, r, errcode.New(errcode.Invalid, "this is the hub, and %s of a cluster is meant; ask for %s<handle>%s", r.URL.Path, Prefix, r.URL.Path))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// probe are paths that a hub and an API server both have.
var probe = map[string]bool{"/healthz": true, "/readyz": true, "/livez": true, "/version": true}

// under returns a request below the path of the cluster that a credential is for.
func (p *Proxy) under(r *http.Request, sealed string) (*http.Request, error) {
	g, err := p.credentials.open(sealed, clock.Micros(p.config.Clock.Now()), func() (grant, error) { return p.open(sealed, sealedCredential) })
	if err != nil {
		return nil, err
	}
	c, known := p.config.Now(g.Cluster)
	if !known {
		return nil, errcode.New(errcode.NotFound, "the cluster of this credential does not exist any more")
	}
	to := *r
	to.RequestURI = Prefix + c.Handle + r.RequestURI
	if to.URL, err = url.ParseRequestURI(to.RequestURI); err != nil {
		return nil, errcode.New(errcode.Invalid, "the request's path is not one: %w", err)
	}
	return &to, nil
}
