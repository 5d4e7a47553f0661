package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
)

// Pattern is the route of deliveries, below Prefix.
const (
	Prefix  = "/ext/v1/webhooks/"
	Pattern = "POST " + Prefix + "{provider}/{id}"
)

// Path returns the path for the deliveries of a webhook.
func Path(w gitcache.Webhook) string {
	return Prefix + string(w.Provider) + "/" + w.ID
}

const (
	// maxBody is more than a push of 2,048 commits needs, the most that GitHub
	// lists.
	maxBody = 8 << 20
	// smallBody is read without a slot; at most largeBodies larger ones are
	// held at once.
	smallBody   = 128 << 10
	largeBodies = 4
	// within limits a whole delivery. Senders give up at 10 s.
	within = 10 * time.Second
	// noteEvery is how often a webhook's last delivery is written at most.
	noteEvery = time.Minute
)

// Hooks finds webhooks. gitcache.WebhookStore implements it.
type Hooks interface {
	// WebhookSecret returns a webhook by ID, with its secret. errcode.NotFound.
	WebhookSecret(ctx context.Context, id string) (gitcache.Webhook, string, error)
	// Webhooks returns all webhooks.
	Webhooks(ctx context.Context) ([]gitcache.Webhook, error)
	// NoteDelivery records the last verified delivery.
	NoteDelivery(ctx context.Context, id, outcome string) error
}

// Repositories are the repositories that deliveries are about.
type Repositories interface {
	Repositories(ctx context.Context) ([]gitcache.Repository, error)
	Sources(ctx context.Context, repositoryID string) ([]gitcache.Source, error)
	// Refresh requests a fetch of a repository, wherever its owner is, and is
	// never lost.
	Refresh(ctx context.Context, repositoryID string) error
}

// Config configures a Server. Hooks and Repositories are required.
type Config struct {
	Hooks        Hooks
	Repositories Repositories
	Clock        clock.Clock
	Log          *slog.Logger
	Registerer   prometheus.Registerer
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
}

// Server answers deliveries.
type Server struct {
	config  Config
	known   *known
	seen    *seen
	noted   *noted
	large   *pool.Places
	counted *prometheus.CounterVec
}

// New returns a Server.
func New(c Config) (*Server, error) {
	if c.Hooks == nil || c.Repositories == nil {
		return nil, errors.New("webhook: hooks and repositories are needed")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		config: c, known: newKnown(c.Hooks, c.Clock), seen: newSeen(c.Clock), noted: newNoted(c.Clock), large: c.Pools.Places(pool.Spec{Name: "large_deliveries", Of: "large deliveries", Size: largeBodies, Queue: 64, Within: within, Retry: 5 * time.Second}),
		counted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_hub_webhook_deliveries_total",
			Help: "Deliveries by provider and outcome: kicked, replayed, uninteresting, unmatched, refused, failed."}, []string{"provider", "outcome"}),
	}
	if c.Registerer != nil {
		return s, c.Registerer.Register(s.counted)
	}
	return s, nil
}

// Known returns the id of the webhook that a path is of, if it exists as far as this replica
// has seen.
func (s *Server) Known(path string) (id string, known bool) {
	id = path[strings.LastIndexByte(path, '/')+1:]
	return id, s.known.has(id)
}

// answer is what the sender's list of deliveries shows.
type answer struct {
	Outcome      string   `json:"outcome"`
	Message      string   `json:"message"`
	Repositories []string `json:"repositories,omitempty"`
}

// ServeHTTP answers one delivery; mount it at Pattern.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	// Writers without deadlines (in tests) do not need one.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
	provider := gitcache.Provider(r.PathValue("provider"))
	a, err := s.deliver(ctx, w, r, provider)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		code := errcode.Of(err)
		outcome := "failed"
		if code == errcode.Unauthorized || code == errcode.NotFound || code == errcode.Exhausted || code == errcode.Invalid {
			outcome = "refused"
		} else {
			s.config.Log.Warn("a webhook delivery failed", "provider", provider, logkey.Error, err)
		}
		s.count(provider, outcome)
		errcode.SetRetryAfter(w.Header(), err)
		w.WriteHeader(errcode.HTTPStatus(code))
		_ = json.NewEncoder(w).Encode(answer{Outcome: outcome, Message: errcode.Message(err)})
		return
	}
	s.count(provider, a.Outcome)
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(a)
}

// count keeps made-up provider names out of the metric labels.
func (s *Server) count(p gitcache.Provider, outcome string) {
	if _, known := signatureHeaders[p]; !known && p != "gitlab" && p != "azure" {
		p = "unknown"
	}
	s.counted.WithLabelValues(string(p), outcome).Inc()
}

func (s *Server) deliver(ctx context.Context, w http.ResponseWriter, r *http.Request, provider gitcache.Provider) (answer, error) {
	hook, raw, err := s.verified(ctx, w, r, provider)
	if err != nil {
		return answer{}, err
	}
	p, err := read(provider, r.Header, raw)
	if err != nil {
		return answer{}, err
	}
	if p.nothing {
		return answer{Outcome: "uninteresting", Message: "verified; deliveries of this kind move no ref"}, nil
	}
	// Other senders name the commit, or number their deliveries. The generic
	// body is the same for every push to a ref.
	repeats := provider == gitcache.Generic
	if !repeats && s.seen.has(hook.ID, raw) {
		return answer{Outcome: "replayed", Message: "the same delivery came less than 10 min ago and was already processed"}, nil
	}
	a, err := s.kick(ctx, hook, p)
	if err != nil {
		return answer{}, err
	}
	if !repeats {
		s.seen.add(hook.ID, raw)
	}
	s.note(ctx, hook, a)
	return a, nil
}

// verified reads a delivery and verifies its secret or signature.
func (s *Server) verified(ctx context.Context, w http.ResponseWriter, r *http.Request, provider gitcache.Provider) (gitcache.Webhook, []byte, error) {
	hook, secret, err := s.known.get(ctx, r.PathValue("id"))
	if err == nil && hook.Provider != provider {
		err = errcode.New(errcode.NotFound, "this webhook does not exist")
	}
	if err != nil {
		return hook, nil, err
	}
	matches, err := proof(provider, secret, r.Header)
	if err != nil {
		// The rest of a body would be waited for, beside all bounds.
		routes.LeaveBody(w, r)
		return hook, nil, err
	}
	raw, release, err := s.body(ctx, w, r, hook.ID)
	if err != nil {
		return hook, nil, err
	}
	defer release()
	return hook, raw, matches(raw)
}

// body reads the whole body; only a few large ones are in memory at once.
func (s *Server) body(ctx context.Context, w http.ResponseWriter, r *http.Request, hook string) (raw []byte, release func(), err error) {
	release = func() {}
	in := http.MaxBytesReader(w, r.Body, maxBody)
	var buffer bytes.Buffer
	if _, err = io.CopyN(&buffer, in, smallBody); errors.Is(err, io.EOF) {
		return buffer.Bytes(), release, nil
	}
	if err == nil {
		held, full := s.large.Wait(ctx, pool.Caller{Name: hook})
		if full != nil {
			return nil, release, full
		}
		release = held.Leave
		_, err = io.Copy(&buffer, in)
	}
	if err == nil {
		return buffer.Bytes(), release, nil
	}
	release()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, func() {}, errcode.New(errcode.Invalid, "the delivery is larger than %d MiB", maxBody>>20)
	}
	return nil, func() {}, errcode.New(errcode.Invalid, "the delivery broke off after %d bytes", buffer.Len())
}

// kick requests a fetch of each repository that the push is about.
func (s *Server) kick(ctx context.Context, hook gitcache.Webhook, p push) (answer, error) {
	all, err := s.config.Repositories.Repositories(ctx)
	if err != nil {
		return answer{}, err
	}
	named := map[string]bool{}
	for _, u := range p.urls {
		if a := address(u); a != "" {
			named[a] = true
		}
	}
	// A webhook of one repository is about it also by a name that the hub does not know:
	// hosts rename repositories, and some send an address of their own.
	strange := !slices.ContainsFunc(all, func(r gitcache.Repository) bool { return named[address(r.URL)] })
	a := answer{Outcome: "unmatched"}
	matched := 0
	for _, r := range all {
		if restricted := hook.RepositoryID != ""; restricted && r.ID != hook.RepositoryID || !named[address(r.URL)] && !(restricted && strange) {
			continue
		}
		matched++
		followed, err := s.follows(ctx, r, p)
		if err != nil {
			return answer{}, err
		}
		if !followed {
			continue
		}
		if err := s.config.Repositories.Refresh(ctx, r.ID); err != nil {
			return answer{}, fmt.Errorf("kick %s: %w", r.Name, err)
		}
		a.Outcome, a.Repositories = "kicked", append(a.Repositories, r.Name)
	}
	switch {
	case a.Outcome == "kicked":
		a.Message = "the hub fetches the repository now"
	case matched > 0:
		a.Outcome, a.Message = "uninteresting", "no service follows the refs that changed"
	case len(p.urls) == 0:
		a.Message = "the delivery has no repository URL, and the webhook is not restricted to one repository"
	default:
		a.Message = "no repository of the hub has this URL; axle repos list shows all"
	}
	return a, nil
}

// follows reports whether a source of the repository may have moved.
func (s *Server) follows(ctx context.Context, r gitcache.Repository, p push) (bool, error) {
	sources, err := s.config.Repositories.Sources(ctx, r.ID)
	if err != nil {
		return false, err
	}
	for _, source := range sources {
		if r.Kind != gitcache.KindGit || p.touches(source.Ref) {
			return true, nil
		}
	}
	return false, nil
}

// note records the last delivery for people, at most once a minute.
func (s *Server) note(ctx context.Context, hook gitcache.Webhook, a answer) {
	text := a.Outcome + ": " + a.Message
	if !s.noted.due(hook.ID, a.Outcome) {
		return
	}
	if err := s.config.Hooks.NoteDelivery(ctx, hook.ID, text); err != nil {
		s.config.Log.Warn("a webhook's delivery was not recorded", logkey.Error, err)
	}
}
