package clusterapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// infrastructure begins the names of components that make machines.
	infrastructure = "infrastructure-"
	// componentService begins the names of the services of components.
	componentService = "cluster-api-"
	// fileKey and registryKey are keys of the configuration of such a service: the digest of
	// the component file, and the registry of its image.
	fileKey, registryKey = "file", "registry"
)

// basis are the components that every installation has.
var basis = []string{"core", "bootstrap-kubeadm", "control-plane-kubeadm"}

// What an installation does with a component.
const (
	Installs = "install"
	Upgrades = "upgrade"
	Changes  = "change"
)

// Component is a component of the hub's list, as it is on a management cluster.
type Component struct {
	componentlist.Component
	// Service is the name of its service; View is zero without that.
	Service string
	View    fleet.ServiceView
	// Installed is the version that the service has, Registry that of its image.
	Installed, Registry string
	// Action is what an installation does, empty for nothing.
	Action string
}

// Installation is what an administrator wants a management cluster to have.
type Installation struct {
	Cluster string
	// Provider makes machines; Version is its version, empty for that of the list.
	Provider, Version string
	// Registry has the images; nil leaves it as it is.
	Registry *string
	// Files are component files by name. With DryRun none is needed.
	Files  map[string][]byte
	DryRun bool
}

// registryName is a host, with a port and a path if need be.
var registryName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

// maxRegistry bounds the name of a registry.
const maxRegistry = 253

// Components returns those of the hub's list, as they are on a management cluster.
func (s *Clusters) Components(ctx context.Context, cluster string) ([]Component, error) {
	if _, err := s.config.Fleet.ClusterNamed(ctx, cluster); err != nil {
		return nil, err
	}
	var all []Component
	for _, listed := range s.config.Components {
		c := Component{Component: listed, Service: componentService + listed.Name}
		view, err := s.config.Fleet.Service(ctx, fleet.Ref{Cluster: cluster, Name: c.Service})
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return nil, err
		}
		if err == nil && view.Builtin() && view.Deleting == "" {
			c.View, c.Installed, c.Registry = view, view.Spec.Version, view.Spec.Configuration[registryKey]
		}
		all = append(all, c)
	}
	return all, nil
}

// Install writes the services of a basis and of a provider, and brings what is installed
// besides to the versions of the list. It returns what changes. look reads on the management
// cluster. Conflict where somebody else installed Cluster API, where something is missing,
// and for a lower version.
func (s *Clusters) Install(ctx context.Context, i Installation, look Look) ([]Component, error) {
	cluster, err := s.config.Fleet.ClusterNamed(ctx, i.Cluster)
	if err != nil {
		return nil, err
	}
	if !cluster.Registered() || cluster.Pending {
		return nil, errcode.New(errcode.Conflict, "cluster %s has no agent that works, which installs it; connect it first: axle clusters connect %s", cluster.Name, cluster.Name)
	}
	all, err := s.Components(ctx, i.Cluster)
	if err != nil {
		return nil, err
	}
	plan, err := planned(all, i)
	if err != nil || !slices.ContainsFunc(plan, func(c Component) bool { return c.Action != "" }) {
		return plan, err
	}
	if err := (ground{cluster.Name, all}).check(ctx, look); err != nil || i.DryRun {
		return plan, err
	}
	return plan, s.install(ctx, cluster.ID, plan, i.Files)
}

// install writes the services of a plan in one transaction.
func (s *Clusters) install(ctx context.Context, clusterID string, plan []Component, files map[string][]byte) error {
	var services []fleet.Builtin
	for _, c := range plan {
		if c.Action == "" {
			continue
		}
		text, err := c.text(files)
		if err != nil {
			return err
		}
		d, data, err := pack(map[string]string{c.File(): text})
		if err != nil {
			return err
		}
		// Store it first: an agent must never be given a digest that nobody has.
		if err := s.config.Keep(ctx, d.String(), data); err != nil {
			return err
		}
		services = append(services, fleet.Builtin{
			Name: c.Service, Namespace: c.Namespace, Version: c.Version, Digest: d.String(), Size: int64(len(data)), AsIs: true,
			Configuration: map[string]string{fileKey: c.Digest, registryKey: c.Registry},
		})
	}
	return s.config.Write(ctx, func(ctx context.Context) error {
		for _, b := range services {
			if err := s.config.Fleet.PutBuiltin(ctx, clusterID, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// planned are the components of an installation with what it does.
func planned(all []Component, i Installation) ([]Component, error) {
	wanted := slices.IndexFunc(all, func(c Component) bool { return c.Name == infrastructure+i.Provider })
	if wanted < 0 {
		return nil, errcode.New(errcode.Invalid, "provider: this hub has no provider %.40q; it has %s", i.Provider, strings.Join(providers(all), ", "))
	}
	if v := all[wanted].Version; i.Version != "" && i.Version != v {
		return nil, errcode.New(errcode.Invalid, "version: this hub installs %s %s, which its cluster templates were judged with, and not %.40q; another version comes with another version of Axle (axle upgrade)", i.Provider, v, i.Version)
	}
	registry, err := images(all, i.Registry)
	if err != nil {
		return nil, err
	}
	var plan []Component
	for _, c := range all {
		if c.Name != all[wanted].Name && !slices.Contains(basis, c.Name) && c.Installed == "" {
			continue
		}
		switch {
		case c.Installed == "":
			c.Action = Installs
		case lower(c.Version, c.Installed):
			return nil, errcode.New(errcode.Conflict, "%s %s is installed, and this hub has %s; Cluster API makes no version lower: upgrade the hub first (axle upgrade)", c.Name, c.Installed, c.Version)
		case c.Installed != c.Version:
			c.Action = Upgrades
		case c.View.Spec.Configuration[fileKey] != c.Digest || c.Registry != registry:
			c.Action = Changes
		}
		c.Registry = registry
		plan = append(plan, c)
	}
	return plan, nil
}

// providers are the names of those that make machines.
func providers(all []Component) (names []string) {
	for _, c := range all {
		if name, ok := strings.CutPrefix(c.Name, infrastructure); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// images is the registry that all components have after an installation.
func images(all []Component, asked *string) (string, error) {
	if asked == nil {
		for _, c := range all {
			if c.Installed != "" {
				return c.Registry, nil
			}
		}
		return "", nil
	}
	if *asked != "" && (len(*asked) > maxRegistry || !registryName.MatchString(*asked)) {
		return "", errcode.New(errcode.Invalid, "registry: %.80q is no registry; use HOST[:PORT][/PATH] without a scheme, such as registry.example.com/mirror", *asked)
	}
	return *asked, nil
}

// text is the component file, with its image in the registry.
func (c Component) text(files map[string][]byte) (string, error) {
	data, ok := files[c.File()]
	if !ok {
		return "", errcode.New(errcode.Invalid, "files: %s is missing, which %s %s is installed by; a release has it", c.File(), c.Name, c.Version)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != c.Digest {
		return "", errcode.New(errcode.Invalid, "files: %s is not that of %s %s, which this hub lists: its SHA-256 is %x, and not %s; take it from the release of the hub's version", c.File(), c.Name, c.Version, sum, c.Digest)
	}
	if c.Registry == "" {
		return string(data), nil
	}
	before := fmt.Sprintf(" image: %s:%s\n", c.Image, c.Version)
	if strings.Count(string(data), before) != 1 {
		return "", errcode.New(errcode.Internal, "%s does not have the image %s:%s once", c.File(), c.Image, c.Version)
	}
	_, path, _ := strings.Cut(c.Image, "/")
	return strings.Replace(string(data), before, fmt.Sprintf(" image: %s/%s:%s\n", c.Registry, path, c.Version), 1), nil
}
