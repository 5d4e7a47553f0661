package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/manifests"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// templateKind is the kind of cluster templates.
const templateKind = "ClusterTemplate"

// templates reads the folders of cluster templates from the git cache.
type templates struct {
	sources sources
	store   *store.Store
}

// templateSpec is what this package reads of the settings of a cluster template.
type templateSpec struct {
	Ref    string   `json:"ref"`
	Folder string   `json:"folder"`
	Kinds  []string `json:"kinds"`
}

// templatePin is the content of Git that a template was found to name.
type templatePin struct {
	templateSpec
	RepositoryID string `json:"repository"`
	Commit       string `json:"commit"`
	// Digest is that of the folder, which the hub keeps: clusters are also made when the
	// repository is gone.
	Digest string `json:"digest"`
}

// maxTemplate limits the tarball of a template, as it is stored.
const maxTemplate = 2 << 20

// pin resolves the ref of a template that clusters are made from, reads its folder and
// checks it.
func (t templates) pin(ctx context.Context, spec json.RawMessage, references []objects.Reference) (json.RawMessage, error) {
	repository, usable := "", false
	for _, r := range references {
		switch r.Field {
		case "repository":
			repository = r.Name
		case "management_clusters":
			usable = true
		}
	}
	if !usable || repository == "" {
		return nil, nil
	}
	var pin templatePin
	if err := json.Unmarshal(spec, &pin.templateSpec); err != nil {
		return nil, errcode.New(errcode.Internal, "%w", err)
	}
	r, err := t.sources.cache.FindRepository(ctx, repository)
	if errcode.Is(err, errcode.NotFound) || err == nil && (r.Kind != gitcache.KindGit || !t.sources.reads(ctx, projectOf(r))) {
		return nil, nil // what is wrong with it is said in the transaction
	}
	if err != nil {
		return nil, err
	}
	head, err := t.resolve(ctx, r, pin.templateSpec)
	if err != nil {
		return nil, err
	}
	data, err := t.fetch(ctx, head.Digest)
	if err != nil {
		return nil, err
	}
	files, err := clusterapi.Unpack(ctx, bytes.NewReader(data))
	if err == nil {
		_, err = clusterapi.Read(files, pin.Kinds)
	}
	if err != nil {
		return nil, errcode.New(errcode.Of(err), "folder %s at %.12s: %w", pin.Folder, head.Revision, err)
	}
	pin.RepositoryID, pin.Commit, pin.Digest = r.ID, head.Revision, head.Digest.String()
	if err := t.store.PutPackage(ctx, pin.Digest, data); err != nil {
		return nil, err
	}
	return json.Marshal(pin)
}

// resolve asks upstream for the commit of a ref.
func (t templates) resolve(ctx context.Context, r gitcache.Repository, spec templateSpec) (gitcache.Head, error) {
	source, err := gitcache.Source{RepositoryID: r.ID, Ref: spec.Ref, Folder: spec.Folder}.Settle(r.Kind)
	if err != nil {
		return gitcache.Head{}, err
	}
	commit := ""
	if rule.Commit.Valid(source.Ref) {
		commit = source.Ref
	}
	if err := t.sources.cache.Track(ctx, source); err != nil {
		return gitcache.Head{}, err
	}
	if err := t.sources.cache.RefreshAndWait(ctx, r.ID, commit); err != nil {
		return gitcache.Head{}, err
	}
	head, err := t.sources.cache.Resolve(ctx, source)
	if err == nil && head.Error != "" {
		err = errcode.New(errcode.Unprocessable, "ref: %s", head.Error)
	}
	return head, err
}

func (t templates) fetch(ctx context.Context, d digest.Digest) ([]byte, error) {
	content, err := t.sources.cache.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it was only read
	if content.Size > maxTemplate {
		return nil, errcode.New(errcode.Unprocessable, "folder: has %d KiB packed; a template has at most %d", content.Size>>10, maxTemplate>>10)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "read the folder of the template: %w", err)
	}
	return data, nil
}

// registered is a template as an administrator declared it, with its folder.
func (t templates) registered(ctx context.Context, declared *objects.Objects, name string) (clusterapi.Registered, error) {
	o, err := template(ctx, declared, name)
	if err != nil {
		return clusterapi.Registered{}, err
	}
	var spec templateSpec
	var pin templatePin
	out := clusterapi.Registered{ID: o.ID, Name: o.Name}
	if err := json.Unmarshal(o.Spec, &spec); err != nil {
		return out, errcode.New(errcode.Internal, "the settings of template %s: %w", name, err)
	}
	repository := ""
	for _, r := range o.References {
		switch r.Field {
		case "repository":
			repository = r.TargetID
		case "management_clusters":
			out.Management = append(out.Management, r.TargetID)
		case "projects":
			out.Projects = append(out.Projects, r.TargetID)
		}
	}
	switch {
	case len(out.Management) == 0:
		return out, errcode.New(errcode.Conflict, "template %s names no management clusters, so it is only stored; an administrator adds them", name)
	case json.Unmarshal(o.Pinned, &pin) != nil || pin.RepositoryID != repository || pin.Ref != spec.Ref || pin.Folder != spec.Folder:
		return out, errcode.New(errcode.Conflict, "template %s was not read from Git; an administrator applies it again", name)
	}
	out.Commit, out.Folder, out.Kinds = pin.Commit, pin.Digest, spec.Kinds
	err = t.open(ctx, &out)
	return out, err
}

// open reads the folder of a template, which the hub keeps.
func (t templates) open(ctx context.Context, r *clusterapi.Registered) error {
	data, err := t.store.Package(ctx, r.Folder)
	if err != nil {
		return err
	}
	r.Files, err = clusterapi.Unpack(ctx, bytes.NewReader(data))
	return err
}

// of implements clusterapi.Config.TemplateOf: the template may be at another commit by now.
func (t templates) of(ctx context.Context, declared *objects.Objects, origin fleet.Origin) (clusterapi.Registered, error) {
	now, err := t.registered(ctx, declared, origin.Template)
	if errcode.Is(err, errcode.NotFound) || err == nil && now.ID != origin.TemplateID {
		return now, errcode.New(errcode.Conflict, "template %s, which the cluster was made from, is gone; the cluster stays as it is", origin.Template)
	}
	if err != nil || now.Commit == origin.Commit {
		return now, err
	}
	if origin.Folder == "" {
		return now, errcode.New(errcode.Conflict, "template %s has moved from %.12s, which the cluster was made of, and the hub has not kept that; an administrator applies the template at that commit again", origin.Template, origin.Commit)
	}
	now.Commit, now.Folder = origin.Commit, origin.Folder
	err = t.open(ctx, &now)
	return now, err
}

// projectsOf implements clusterapi.Config.ProjectsOf, in a transaction that a change of the
// template makes start again. Another template of the same name is not the one that the
// cluster was made from.
func projectsOf(ctx context.Context, declared *objects.Objects, origin fleet.Origin) (ids []string, err error) {
	o, err := template(ctx, declared, origin.Template)
	if errcode.Is(err, errcode.NotFound) || err == nil && o.ID != origin.TemplateID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range o.References {
		if r.Field == "projects" {
			ids = append(ids, r.TargetID)
		}
	}
	return ids, event.DependsOn(ctx, event.Change{Kind: event.KindObject, Key: o.ID})
}

// template returns a cluster template by name. NotFound.
func template(ctx context.Context, declared *objects.Objects, name string) (objects.Shown, error) {
	s := object.ClusterTemplate.Storage
	return declared.Get(ctx, objects.Kind{Name: templateKind, Noun: s.Called, List: "axle " + object.ClusterTemplate.Noun + " list"}, name, identity.All)
}

// newClusters creates the clusters that are made from templates.
func newClusters(h *Hub, log *slog.Logger) (*clusterapi.Clusters, error) {
	t := templates{newSources(h), h.store}
	components, err := componentsOf(h.config.Deploy)
	if err != nil {
		return nil, err
	}
	return clusterapi.New(clusterapi.Config{
		Fleet: h.fleet, Components: components, Keep: h.store.PutPackage, Log: log,
		Template: func(ctx context.Context, name string) (clusterapi.Registered, error) {
			return t.registered(ctx, h.objects, name)
		},
		TemplateOf: func(ctx context.Context, origin fleet.Origin) (clusterapi.Registered, error) {
			return t.of(ctx, h.objects, origin)
		},
		ProjectsOf: func(ctx context.Context, origin fleet.Origin) ([]string, error) {
			return projectsOf(ctx, h.objects, origin)
		},
		Names: func(ctx context.Context, ids []string) (map[string]string, error) {
			return h.clusterNames(ctx, ids, identity.All)
		},
		Forget: func(ctx context.Context, id string) error {
			return h.callers.AgentKeys.RevokeClusterWith(ctx, id, func(ctx context.Context) error { return h.fleet.ForgetDestroyed(ctx, id) })
		},
		Write: h.store.Write, Token: h.childToken, Manifests: h.childManifests,
	}), nil
}

// componentsOf reads the list of what the hub may install of Cluster API.
func componentsOf(deploy fs.FS) ([]componentlist.Component, error) {
	if deploy == nil {
		return nil, nil // the manifests of agents are missing too, which is an error
	}
	text, err := fs.ReadFile(deploy, componentlist.Path)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the list of the components of Cluster API: %w", err)
	}
	return componentlist.Parse(string(text))
}

// childToken implements clusterapi.Config.Token. The token belongs to nobody: who may use the
// template was decided when the cluster was created.
func (h *Hub) childToken(ctx context.Context, c fleet.Cluster) (string, int64, error) {
	if _, err := h.callers.AgentKeys.EndBootstrapTokens(ctx, c.ID, false); err != nil {
		return "", 0, err
	}
	made, err := h.callers.AgentKeys.CreateBootstrapToken(ctx, identity.Principal{Kind: identity.KindCluster, ID: c.ManagementID, Name: "management cluster " + c.Origin.Management}, agentkey.BootstrapRequest{
		ProjectID: c.ProjectID, Project: c.Project, ClusterID: c.ID, ClusterName: c.Name, MaxUses: 1,
	})
	return made.Secret, made.ExpiresAt, err
}

// childManifests implements clusterapi.Config.Manifests.
func (h *Hub) childManifests(token string) (string, error) {
	authority, err := h.authority()
	if err != nil {
		return "", err
	}
	text, err := manifests.Agent{
		Namespace: manifests.AgentNamespace, Image: h.agentImage(), HubURL: h.agentsURL(), BootstrapToken: token, CAPEM: authority, Version: buildinfo.Version,
	}.Manifests(h.config.Deploy)
	return string(text), err
}
