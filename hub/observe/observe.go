package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/telemetry"
)

// Kind is the kind of declared sources in hub/objects.
const Kind = "TelemetrySource"

const (
	// questionsAtOnce are those that stores are asked at once by one replica, looksAtOnce those
	// about who sees what, and tailsAtOnce the answers that go on.
	questionsAtOnce, looksAtOnce, tailsAtOnce = 128, 32, 500
	// waitFor is how long a question waits for its turn.
	waitFor = 10 * time.Second
	// tailsOfOne are the tails of one caller.
	tailsOfOne = 10
)

// Caller is who asks.
type Caller struct {
	Principal identity.Principal
	// Source is the caller's address.
	Source string
}

// Cluster is what a question is about. The caller may read it.
type Cluster struct{ ID, Name, Handle, ProjectID string }

// Namespaces are those whose data a caller sees.
type Namespaces struct {
	// All is set for the whole cluster, with what belongs to no namespace.
	All   bool
	Names []string
	// LeftOut is the number of namespaces that were not looked at.
	LeftOut int
}

// Agents asks the agents of clusters, over their tunnels, as a caller.
type Agents interface {
	// Up reports whether a cluster has a tunnel now.
	Up(clusterID string) bool
	// Services are the stores that the agent finds.
	Services(ctx context.Context, by Caller, c Cluster) ([]telemetry.Service, error)
	// Namespaces are those in which the caller may read the logs of pods.
	Namespaces(ctx context.Context, by Caller, c Cluster) (Namespaces, error)
	// While returns a context that ends soon after the caller may not read the cluster any more,
	// for what is asked elsewhere. end is to be called.
	While(ctx context.Context, by Caller, c Cluster) (during context.Context, end func(), err error)
	// Get makes a request of a store's API, whatever it answers.
	Get(ctx context.Context, by Caller, c Cluster, s telemetry.Service, path, rawQuery, tenant string) (*Answer, error)
}

// Answer is the answer of a store. Its body is to be closed.
type Answer struct {
	Status                int
	ContentType, Location string
	Body                  io.ReadCloser
}

// Store keeps what is declared. Methods that write are called in a transaction.
type Store interface {
	// ObjectsNaming returns the objects of a kind that name a target, in order of names.
	ObjectsNaming(ctx context.Context, kind, targetID string, limit int) ([]objects.Object, error)
	// ObjectSecret returns what is sealed for an object; empty for nothing.
	ObjectSecret(ctx context.Context, objectID string) (sealed string, err error)
	// PutObjectSecret replaces it; empty deletes it.
	PutObjectSecret(ctx context.Context, objectID, sealed string) error
}

// Config has what an Observer needs. Pools, Clock and Log are optional.
type Config struct {
	Store  Store
	Agents Agents
	Sealer interface {
		Seal(plain []byte, purpose string) string
		Open(sealed, purpose string) ([]byte, error)
	}
	// ProjectOf returns the project of a cluster, and makes a transaction depend on it.
	ProjectOf func(ctx context.Context, clusterID string) (projectID string, err error)
	// Transport makes a transport that follows the hub's rules about addresses.
	Transport func(trusted *tls.Config) *http.Transport
	// AllowHTTP permits http:// URLs of other machines.
	AllowHTTP bool
	// Links lead to what people have beside the hub.
	Links []LinkSettings
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Observer reads metrics, logs and alerts. Its methods are safe for concurrent use.
type Observer struct {
	config                  Config
	direct                  *http.Transport
	questions, looks, tails *pool.Places
	seen                    *cache[Namespaces]
	found                   *cache[[]telemetry.Service]
	looking                 singleflight.Group
}

var _ objects.Part = (*Observer)(nil)

// New returns an error when a required part is missing.
func New(c Config) (*Observer, error) {
	if c.Store == nil || c.Agents == nil || c.Sealer == nil || c.ProjectOf == nil || c.Transport == nil {
		return nil, errors.New("observe: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Observer{
		config: c, direct: c.Transport(&tls.Config{MinVersion: tls.VersionTLS12}),
		questions: c.Pools.Places(pool.Spec{Name: "telemetry_questions", Of: "questions about metrics and logs", Size: questionsAtOnce, Reserve: questionsAtOnce / 16, Queue: 4 * questionsAtOnce, Within: waitFor, Retry: 5 * time.Second}),
		looks:     c.Pools.Places(pool.Spec{Name: "namespace_looks", Of: "looks at who sees which namespaces", Size: looksAtOnce, Reserve: looksAtOnce / 16, Queue: 4 * looksAtOnce, Within: waitFor, Retry: 5 * time.Second}),
		tails:     c.Pools.Places(pool.Spec{Name: "telemetry_tails", Of: "tails of logs", Size: tailsAtOnce, Share: tailsOfOne, Reserve: tailsAtOnce / 16, Retry: time.Minute}),
		seen:      newCache[Namespaces](c.Clock, seenFor), found: newCache[[]telemetry.Service](c.Clock, foundFor),
	}, nil
}

// Close closes idle connections.
func (o *Observer) Close() { o.direct.CloseIdleConnections() }
