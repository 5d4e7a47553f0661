package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/oidc"
	"github.com/axle-cd/axle/internal/errcode"
)

// newApplications creates the clients of the identity provider. The key of hashes is the
// one of digests: it survives a change of the hub's own key.
func newApplications(h *Hub, key []byte) (*application.Applications, error) {
	return application.New(application.Config{
		Store: h.store, Writer: h.store, Sealer: h.store.Sealer(), Key: key, Deliverer: deliverer{h.fleet}, Room: h.fleet.RoomForApplication,
		Domains: func(ctx context.Context, projectID string) ([]string, error) {
			p, err := fleet.Templates{Fleet: h.fleet}.ProjectByID(ctx, projectID)
			return p.Limits.Domains, err
		},
		Audiences: h.audiences, Names: namesOf(h.URL()), Issuer: oidc.Issuer(h.URL()), Clock: h.config.Clock, Log: h.log,
	})
}

// namesOf are what people call a hub at a URL: its host, and the host's first label.
func namesOf(text string) []string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Hostname(), "0123456789.:abcdef") == "" {
		return nil
	}
	first, _, _ := strings.Cut(u.Hostname(), ".")
	return []string{u.Hostname(), first}
}

// audiences are those of the tokens of other issuers that the hub trusts.
func (h *Hub) audiences(ctx context.Context) (all []string, err error) {
	trusts, err := h.store.Trusts(ctx, "")
	for _, t := range trusts {
		all = append(all, t.Audience)
	}
	return all, err
}

// deliverer brings the Secrets of applications to clusters: each by a service of the
// application's project, which holds the values as every service holds its secrets. The
// project's limits and the account of the project apply to it.
type deliverer struct{ fleet *fleet.Fleet }

var _ application.Deliverer = deliverer{}

// Deliver implements application.Deliverer.
func (d deliverer) Deliver(ctx context.Context, s application.Delivery) (string, error) {
	cluster, err := d.fleet.ClusterByID(ctx, s.ClusterID)
	if err != nil {
		return "", err
	}
	names, err := d.fleet.ProjectNames(ctx, s.ProjectID)
	if err != nil {
		return "", err
	}
	spec, err := specOf(s)
	if err != nil {
		return "", err
	}
	view, err := d.fleet.ApplyOurs(ctx, s.ApplicationID, fleet.ServiceRequest{Ref: fleet.Ref{Cluster: cluster.Name, Name: s.Service}, Spec: spec, Project: names[s.ProjectID]})
	return view.ID, err
}

// specOf is the spec of the service that delivers a Secret.
func specOf(s application.Delivery) (fleet.Spec, error) {
	files, err := bundled.Application()
	if err != nil {
		return fleet.Spec{}, err
	}
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	secret, err := json.Marshal(data)
	if err != nil {
		return fleet.Spec{}, errcode.New(errcode.Internal, "%w", err)
	}
	metadata, err := json.Marshal(map[string]string{"name": s.Secret, "namespace": s.Namespace})
	return fleet.Spec{
		Namespace: s.Namespace, Git: &fleet.Git{URL: bundled.ApplicationURL, Ref: files.Digest.String()},
		Configuration: map[string]string{bundled.Metadata: string(metadata)}, Secrets: map[string]string{bundled.SecretData: string(secret)},
	}, err
}

// Remove implements application.Deliverer.
func (d deliverer) Remove(ctx context.Context, by string, s application.Delivery) error {
	return d.fleet.DeleteOurs(ctx, by, s.ApplicationID, s.ServiceID)
}

// Applied implements application.Deliverer.
func (d deliverer) Applied(ctx context.Context, serviceID string) (bool, error) {
	have, err := d.fleet.ServiceByID(ctx, serviceID)
	if errcode.Is(err, errcode.NotFound) {
		return true, nil
	}
	return err == nil && have.Sync == fleet.Synced && have.Status.SpecDigest == have.SpecDigest, err
}
