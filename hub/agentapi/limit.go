package agentapi

import (
	"context"
	"net/http"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
)

// registrations are those with a bootstrap token, those of strangers, which guess one, and
// those that a management cluster asks for: its agent may be somebody else's, and each costs
// a transaction and a record.
type registrations struct{ known, strangers, children *pool.Rates }

// newRegistrations makes the pools: many agents may share an address behind NAT, or a token,
// and start at once, so the burst fits a large site. One token may be a whole fleet's, at many
// sites.
func newRegistrations(pools *pool.Set, c clock.Clock) registrations {
	rates := func(name string, together pool.Rate) *pool.Rates {
		return pools.Rates(pool.RateSpec{
			Name: name, Of: "registrations", Clock: c,
			Caller: pool.Rate{Burst: 200, Every: time.Second / 5}, Project: together,
		})
	}
	return registrations{
		children: pools.Rates(pool.RateSpec{
			Name: "enrolments", Of: "clusters to connect", Clock: c,
			Caller: pool.Rate{Burst: 500, Every: time.Second / 5}, Project: pool.Rate{Burst: 2000, Every: time.Second / 20},
		}),
		known:     rates("registrations", pool.Rate{Burst: 10_000, Every: time.Second / 200}),
		strangers: rates("strangers_registrations", pool.Rate{Burst: 1600, Every: time.Second / 40}),
	}
}

// register counts one registration. A token of the hub counts by address, and apart from
// strangers at that address, so that nobody beside keeps it out.
func (s *Server) register(ctx context.Context, bearer, remote string) error {
	token, err := s.config.Identity.Authenticate(ctx, bootstrap.Secret(bearer))
	if err != nil || token.Kind != identity.KindBootstrap {
		return s.registrations.strangers.Take(pool.Stranger(remote))
	}
	return s.registrations.known.Take(pool.Caller{Name: token.ID + " " + address.Host(remote), Project: token.ID})
}

// limitBody limits a request's body and the time that it may take.
func limitBody(next http.Handler, bytes int64, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		// Writers without deadlines (in tests) do not need one.
		_ = rc.SetReadDeadline(time.Now().Add(within))
		_ = rc.SetWriteDeadline(time.Now().Add(2 * within))
		r.Body = http.MaxBytesReader(w, r.Body, bytes)
		next.ServeHTTP(w, r)
	})
}
