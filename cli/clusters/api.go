package clusters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/bundle"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

const (
	// managementCluster is what axle install calls the cluster that the hub is in.
	managementCluster = "mgmt"
	// releases is the registry that releases are published in first.
	releases = "ghcr.io"
	// filesLimit bounds how long it takes to read the component files.
	filesLimit = 10 * time.Minute
)

func apiCommand(a *command.App) *cobra.Command {
	return command.Noun("api", "Install Cluster API on a management cluster, and upgrade it", nil, installAPICommand(a), listAPICommand(a))
}

func installAPICommand(a *command.App) *cobra.Command {
	request := &hubv1.InstallComponentsRequest{}
	var registry string
	var source componentSource
	c := &cobra.Command{
		Use: "install --provider PROVIDER", Short: "Install or upgrade Cluster API and a provider",
		Long: `Install Cluster API on a management cluster: its core, the kubeadm providers, and the
provider that makes machines. The hub writes a protected service for each, which the agent
there applies. Administrators only.

The versions are those of the hub's release. After an upgrade of the hub, the same command
upgrades what is installed, with all providers. It shows what changes first; without
a change it writes nothing. A lower version is refused, and so is a cluster that has a Cluster API which
somebody else installed, or that has no cert-manager.

The component files come from a release: --from is a registry, a bundle, the folder of a
release, or that of make capi. The hub takes only files with the digests that it lists.
Credentials of a provider are in no file: create the Secret that the plan names.`,
		Example: `  axle clusters api install --provider aws --on mgmt --dry-run
  axle clusters api install --provider docker --from axle-1.4.2.tar --registry registry.internal`,
		Args: command.Exactly(0),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			if request.GetProvider() == "" {
				return exitcode.Usagef("name the provider that makes machines: --provider docker")
			}
			if c.Flags().Changed("registry") {
				request.Registry = &registry
			}
			return installAPI(c.Context(), a, client, request, source)
		}),
	}
	f := c.Flags()
	f.StringVar(&request.Provider, "provider", "", "provider of machines: aws, docker or gcp")
	f.StringVar(&request.Cluster, "on", managementCluster, "management cluster that gets it")
	f.StringVar(&request.Version, "version", "", "version of the provider that you expect; another one than the hub's is refused")
	f.StringVar(&registry, "registry", "", "HOST[:PORT][/PATH] of the registry that has the images; empty is those that the files name (default: as it is installed)")
	f.StringVar(&source.from, "from", releases, "where the component files are: HOST[:PORT][/PATH] of a registry, a bundle, or a folder")
	f.BoolVar(&source.plainHTTP, "plain-http", false, "speak HTTP without TLS to the registry of --from")
	f.BoolVar(&request.DryRun, "dry-run", false, "show what would change, write nothing")
	return c
}

// installAPI shows what changes, and then changes it.
func installAPI(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.InstallComponentsRequest, source componentSource) error {
	dryRun := request.GetDryRun()
	request.DryRun = true
	planned, err := client.Clusters.InstallComponents(ctx, connect.NewRequest(request))
	if err != nil {
		return err
	}
	plan := planned.Msg.GetComponents()
	ends := dryRun || !anyChange(plan)
	if ends || output.Human(a.Output) {
		err = printComponents(a, plan, command.Col("CHANGE", func(c *hubv1.ClusterAPIComponent) string { return cmp.Or(c.GetAction(), "none") }))
	}
	if err != nil || ends {
		return err
	}
	if request.Files, err = source.files(ctx, a, plan); err != nil {
		return err
	}
	request.DryRun = false
	written, err := client.Clusters.InstallComponents(ctx, connect.NewRequest(request))
	if err != nil {
		return err
	}
	return printInstalled(a, request.GetCluster(), written.Msg.GetComponents())
}

func anyChange(plan []*hubv1.ClusterAPIComponent) bool {
	return slices.ContainsFunc(plan, func(c *hubv1.ClusterAPIComponent) bool { return c.GetAction() != "" })
}

// componentSource is where component files are read from.
type componentSource struct {
	from      string
	plainHTTP bool
}

// files are those of what changes.
func (s componentSource) files(ctx context.Context, a *command.App, plan []*hubv1.ClusterAPIComponent) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, filesLimit)
	defer cancel()
	p := a.Begin("reading component files from %s", s.from)
	defer p.End()
	release, err := bundle.OpenComponents(ctx, a, s.from, s.plainHTTP)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, c := range plan {
		if c.GetAction() == "" {
			continue
		}
		data, err := release.Read(ctx, c.GetName(), c.GetDigest(), c.GetSize())
		if err != nil {
			return nil, fmt.Errorf("%w; --from names a registry, a bundle or a folder with the release of the hub's version (axle version shows it)", err)
		}
		files[c.GetName()+".yaml"] = data
	}
	return files, nil
}

func listAPICommand(a *command.App) *cobra.Command {
	request := &hubv1.ListComponentsRequest{}
	c := &cobra.Command{
		Use: "list", Short: "List the components of Cluster API on a management cluster",
		Long: `List the components of Cluster API that the hub can install: the version that is installed on
a management cluster, with the state of its service, and the version that the hub has.`,
		Example: "  axle clusters api list --on mgmt",
		Args:    command.Exactly(0),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Clusters.ListComponents(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return printComponents(a, all.Msg.GetComponents(),
				command.Col("SYNC", (*hubv1.ClusterAPIComponent).GetSync),
				command.Col("HEALTH", (*hubv1.ClusterAPIComponent).GetHealth),
				command.Col("SERVICE", func(c *hubv1.ClusterAPIComponent) string {
					if c.GetInstalled() == "" {
						return ""
					}
					return c.GetService()
				}),
				command.Wide("NAMESPACE", (*hubv1.ClusterAPIComponent).GetNamespace),
				command.Wide("MESSAGE", (*hubv1.ClusterAPIComponent).GetMessage))
		}),
	}
	c.Flags().StringVar(&request.Cluster, "on", managementCluster, "management cluster to look at")
	return c
}

func printComponents(a *command.App, all []*hubv1.ClusterAPIComponent, more ...command.Column[*hubv1.ClusterAPIComponent]) error {
	return command.PrintList(a, all, (*hubv1.ClusterAPIComponent).GetName, append([]command.Column[*hubv1.ClusterAPIComponent]{
		command.Col("COMPONENT", (*hubv1.ClusterAPIComponent).GetName),
		command.Col("INSTALLED", (*hubv1.ClusterAPIComponent).GetInstalled),
		command.Col("AVAILABLE", (*hubv1.ClusterAPIComponent).GetAvailable),
		command.Wide("REGISTRY", (*hubv1.ClusterAPIComponent).GetRegistry),
	}, more...)...)
}

// printInstalled says what was written, and what is still to do.
func printInstalled(a *command.App, cluster string, written []*hubv1.ClusterAPIComponent) error {
	if !output.Human(a.Output) {
		return printComponents(a, written)
	}
	for _, c := range written {
		if c.GetSecretName() != "" && c.GetInstalled() == "" {
			fmt.Fprintf(a.Err, "%s needs its credentials in the Secret %s of namespace %s\n", c.GetName(), c.GetSecretName(), c.GetNamespace())
		}
	}
	_, err := fmt.Fprintf(a.Err, "the agent of %s installs them; axle clusters api list --on %s shows how far it is\n", cluster, cluster)
	return err
}
