package agentkey

import (
	"context"
	"path"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxUses limits how many clusters one bootstrap token may register.
const maxUses = 10000

const (
	// bootstrapLifetime is how long a bootstrap token can be used.
	bootstrapLifetime = 24 * time.Hour
	// fixedLifetime is the same for a token that is fixed to a cluster, which
	// the command that requested it uses at once.
	fixedLifetime = time.Hour
)

// anyValue, as the value of an allowed tag, lets a cluster choose the value.
const anyValue = "*"

// BootstrapRequest describes a wanted bootstrap token.
type BootstrapRequest struct {
	// ProjectID and Project are the project of the clusters.
	ProjectID, Project string
	NamePattern        string
	AllowedTags        map[string]string
	// FleetWide is set when the maker may write the whole hub.
	FleetWide bool
	// MaxUses defaults to 1.
	MaxUses int
	// Lifetime defaults to 24 h, 1 h with ClusterID.
	Lifetime time.Duration
	// Approved means that clusters need no approval although the token may be
	// used more than once.
	Approved bool
	// ClusterID and ClusterName fix the token to a cluster that exists.
	ClusterID, ClusterName string
	// Replaces ends every other credential of the cluster first. An agent that polls no
	// more keeps its key until another one has registered, so it is for clusters without one.
	Replaces bool
}

// CreateBootstrapToken creates a token with which agents may register. It
// contains the hub's public signing key, so that an agent trusts no other key
// at its registration. Its life is limited to its creator's, as for
// CreateToken. Invalid when its terms are inconsistent.
func (ks *Keys) CreateBootstrapToken(ctx context.Context, by identity.Principal, r BootstrapRequest) (identity.CreatedToken, error) {
	if _, err := path.Match(r.NamePattern, ""); err != nil {
		return identity.CreatedToken{}, errcode.New(errcode.Invalid, "name pattern %q is not a valid glob; use * and ? as in edge-*", r.NamePattern)
	}
	if r.MaxUses == 0 {
		r.MaxUses = 1
	}
	if r.MaxUses < 0 || r.MaxUses > maxUses || (r.ClusterID != "" && r.MaxUses != 1) {
		return identity.CreatedToken{}, errcode.New(errcode.Invalid, "max uses: give 1 to %d, and 1 for a token that is fixed to one cluster", maxUses)
	}
	standard, name := bootstrapLifetime, "bootstrap "+r.NamePattern
	if r.ClusterID != "" {
		standard, name = fixedLifetime, "bootstrap "+r.ClusterName
	}
	t := identity.Token{
		Kind: identity.TokenBootstrap, Name: name, ClusterID: r.ClusterID, ClusterName: r.ClusterName,
		OwnerID: by.ID, OwnerName: by.Name, OwnerKind: by.Kind,
		Bootstrap: &identity.BootstrapTerms{
			ManagedBy: managed.Created(ctx), ProjectID: r.ProjectID, Project: r.Project, NamePattern: r.NamePattern, AllowedTags: r.AllowedTags, FleetWide: r.FleetWide,
			MaxUses: r.MaxUses, UsesLeft: r.MaxUses, NeedsApproval: r.MaxUses > 1 && !r.Approved,
		},
	}
	keys, err := ks.Signer.openKeys(ctx)
	if err == nil && r.Replaces {
		err = ks.RevokeCluster(ctx, r.ClusterID)
	}
	if err != nil {
		return identity.CreatedToken{}, err
	}
	made, err := ks.credentials.Create(ctx, by, t, identity.Lifetime{Wanted: r.Lifetime, Standard: standard}, event.Entry{Kind: "token.created", Object: "token " + name, By: by.By(), Cluster: r.ClusterID})
	if err == nil {
		made.Secret = bootstrap.Join(made.Secret, inForce(keys, ks.now()).PublicKey)
	}
	return made, err
}

// checkTerms returns nil when a cluster may have the name and the tags.
func checkTerms(b identity.BootstrapTerms, name string, tags map[string]string) error {
	if b.NamePattern != "" {
		if ok, err := path.Match(b.NamePattern, name); err != nil || !ok {
			return errcode.New(errcode.Forbidden, "cluster name %.80q does not match %q, which the bootstrap token requires", name, b.NamePattern)
		}
	}
	for key, value := range tags {
		allowed, ok := b.AllowedTags[key]
		if !ok || (allowed != anyValue && allowed != value) {
			return errcode.New(errcode.Forbidden, "tag %.80s=%.80s is not allowed by the bootstrap token; set it on the cluster after it registered, or make a token that allows it", key, value)
		}
	}
	return nil
}
