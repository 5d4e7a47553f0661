package application

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/clock"
)

// Kind is the kind of applications in hub/objects.
const Kind = "Application"

// Record is what is stored of a client beside its application.
type Record struct {
	ApplicationID, ClientID string
	// ServiceID is the service that delivers the Secret, empty for none.
	ServiceID string
	// Wanted counts what is to be delivered, and Delivered is the last one that was. Failure
	// is why a later one was not.
	Wanted, Delivered int64
	Failure           string
}

// Secret is one of a client's secrets.
type Secret struct {
	ID, ApplicationID string
	// Hash is keyed, Sealed the text of the present one.
	Hash, Sealed string
	CreatedAt    int64
	// FormerAt is when a newer one came, 0 for the present one.
	FormerAt int64
	// Overlap is how long a former one is valid, from the report that the new one is
	// applied, or from FormerAt when nothing is delivered. EndsAt is known then, 0 before.
	Overlap time.Duration
	EndsAt  int64
}

// ended reports whether a secret is refused.
func (s Secret) ended(now int64) bool { return s.EndsAt != 0 && s.EndsAt <= now }

// Store keeps clients and their secrets. Methods that write are called in a transaction.
type Store interface {
	// Client returns the client of an id.
	Client(ctx context.Context, clientID string) (Record, bool, error)
	// ClientOf returns the client of an application.
	ClientOf(ctx context.Context, applicationID string) (Record, bool, error)
	// UndeliveredClients returns those of which something is to be delivered, in order of
	// application from after one on.
	UndeliveredClients(ctx context.Context, after string, limit int) ([]Record, error)
	// PutClient stores the client of an application. Conflict when another one has its id.
	PutClient(ctx context.Context, r Record) error
	// DeleteClient deletes the client of an application with its secrets.
	DeleteClient(ctx context.Context, applicationID string) error
	// Secrets returns those of an application, the present one first.
	Secrets(ctx context.Context, applicationID string) ([]Secret, error)
	// PutSecret stores one by its ID.
	PutSecret(ctx context.Context, s Secret) error
	// DeleteClientSecret deletes one.
	DeleteClientSecret(ctx context.Context, id string) error
	// FormerSecrets returns former ones of all clients, in order of id from after one on.
	FormerSecrets(ctx context.Context, after string, limit int) ([]Secret, error)
	// ObjectByID returns an object. The others are those of objects.Store.
	ObjectByID(ctx context.Context, id string) (objects.Object, bool, error)
	References(ctx context.Context, objectIDs []string) ([]objects.Reference, error)
	CountObjects(ctx context.Context, kind, projectID string) (int64, error)
}

// Delivery is a Secret for a cluster.
type Delivery struct {
	ApplicationID string
	// Application names it for people.
	Application string
	// ServiceID is the service that delivers it so far, empty for none.
	ServiceID string
	// Service is the name of the service.
	Service, ClusterID, ProjectID, Namespace, Secret string
	Data                                             map[string]string
}

// Deliverer brings Secrets to clusters.
type Deliverer interface {
	// Deliver returns the service that delivers the Secret from now on. It is not called
	// in a transaction: values may be kept on another machine.
	Deliver(ctx context.Context, d Delivery) (serviceID string, err error)
	// Remove removes the Secret that a service delivered; one that is gone is no error.
	Remove(ctx context.Context, by string, d Delivery) error
	// Applied reports whether the agent applied what is to be delivered; a service that is
	// gone has nothing to apply.
	Applied(ctx context.Context, serviceID string) (bool, error)
}

// Config has what Applications needs. Log and Clock are optional.
type Config struct {
	Store  Store
	Writer interface {
		Write(ctx context.Context, fn func(ctx context.Context) error) error
	}
	Sealer interface {
		Seal(plain []byte, purpose string) string
		Open(sealed, purpose string) ([]byte, error)
	}
	// Key is that of hashes.
	Key       []byte
	Deliverer Deliverer
	// Domains returns those that a project owns, and makes a transaction depend on them. Room
	// returns Forbidden when it may have no more applications; count counts them.
	Domains func(ctx context.Context, projectID string) ([]string, error)
	Room    func(ctx context.Context, projectID string, count func(ctx context.Context, projectID string) (int, error)) error
	// Audiences returns those of tokens of other issuers that the hub trusts.
	Audiences func(ctx context.Context) ([]string, error)
	// Names are the hub's own, and Issuer is the URL of its identity provider.
	Names  []string
	Issuer string
	Clock  clock.Clock
	Log    *slog.Logger
}

// Applications keeps the clients. Its methods are safe for concurrent use.
type Applications struct {
	config Config
	// undelivered and former are how far the rounds over clients and former secrets are: those
	// that wait for long, of one project, hold up nobody else's.
	undelivered, former round
}

// round goes over rows in order of their ids, a page at a time, and begins again at the end.
type round struct {
	mu    sync.Mutex
	after string
}

// from returns the id after which the next page begins.
func (r *round) from() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.after
}

// went records the last id of a page; an empty one begins again.
func (r *round) went(last string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = last
}

var _ objects.Part = (*Applications)(nil)

// New returns an error when a required part is missing.
func New(c Config) (*Applications, error) {
	if c.Store == nil || c.Writer == nil || c.Sealer == nil || len(c.Key) == 0 || c.Deliverer == nil || c.Domains == nil || c.Room == nil || c.Audiences == nil || c.Issuer == "" {
		return nil, errors.New("application: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Applications{config: c}, nil
}

func (a *Applications) now() int64 { return clock.Micros(a.config.Clock.Now()) }
