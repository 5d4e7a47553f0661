package identity

import (
	"context"
	"path"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxUses limits how many clusters one bootstrap token may register.
const maxUses = 10000

// anyValue, as the value of an allowed tag, lets a cluster choose the value.
const anyValue = "*"

// CreateBootstrapToken creates a token with which agents may register. It
// contains the hub's public signing key, so that an agent trusts no other key
// at its registration. Its life is limited to its creator's, as for
// CreateToken. Invalid when its terms are inconsistent.
func (d *Directory) CreateBootstrapToken(ctx context.Context, by Principal, r BootstrapRequest) (CreatedToken, error) {
	if _, err := path.Match(r.NamePattern, ""); err != nil {
		return CreatedToken{}, errcode.New(errcode.Invalid, "name pattern %q is not a valid glob; use * and ? as in edge-*", r.NamePattern)
	}
	if r.MaxUses == 0 {
		r.MaxUses = 1
	}
	if r.MaxUses < 0 || r.MaxUses > maxUses || (r.ClusterID != "" && r.MaxUses != 1) {
		return CreatedToken{}, errcode.New(errcode.Invalid, "max uses: give 1 to %d, and 1 for a token that is fixed to one cluster", maxUses)
	}
	standard, name := bootstrapLifetime, "bootstrap "+r.NamePattern
	if r.ClusterID != "" {
		standard, name = fixedLifetime, "bootstrap "+r.ClusterName
	}
	t := Token{
		Kind: TokenBootstrap, Name: name, ClusterID: r.ClusterID, ClusterName: r.ClusterName,
		OwnerID: by.ID, OwnerName: by.Name, OwnerKind: by.Kind,
		Bootstrap: &BootstrapTerms{
			ProjectID: r.ProjectID, Project: r.Project, NamePattern: r.NamePattern, AllowedTags: r.AllowedTags,
			MaxUses: r.MaxUses, UsesLeft: r.MaxUses, NeedsApproval: r.MaxUses > 1 && !r.Approved,
		},
	}
	keys, err := d.openKeys(ctx)
	if err != nil {
		return CreatedToken{}, err
	}
	made, err := d.create(ctx, by, t, lifetime{r.Lifetime, standard}, event.Entry{Kind: "token.created", Object: "token " + name, By: by.By(), Cluster: r.ClusterID})
	if err == nil {
		made.Secret = bootstrap.Join(made.Secret, inForce(keys, d.now()).PublicKey)
	}
	return made, err
}

// check returns nil when a cluster may have the name and the tags.
func (b BootstrapTerms) check(name string, tags map[string]string) error {
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
