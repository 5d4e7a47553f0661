package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v4/pkg/release/common"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// namesShown bounds how many clusters an error names.
const namesShown = 5

// goneWithin is how long the pods may take to end.
const goneWithin = 2 * time.Minute

// remover removes a release.
type remover struct{ place }

// Uninstall returns the command axle uninstall.
func Uninstall(a *command.App) *cobra.Command {
	i := &remover{place{app: a}}
	var deleteData, force bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the control plane from a cluster; its data stays",
		Long: `Remove the hub and its operator, as installed by axle install or helm install. The
volumes, the custom resource definitions and the custom resources stay, and so do
the namespace, its Secrets, and the agents in all clusters with everything that they
delivered. An install with the same name goes on with the same data. --delete-data
also deletes the volumes: agents must then be connected again.

While agents of other clusters are connected to the hub, it refuses.`,
		Example: `  axle uninstall
  axle uninstall --delete-data --yes`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return i.uninstall(c.Context(), deleteData, force) },
	}
	i.target(c)
	c.Flags().BoolVar(&deleteData, "delete-data", false, "also delete the volumes of the hub, with its database and its key")
	c.Flags().BoolVar(&force, "force", false, "also while agents are connected, or the hub cannot be asked; they keep what they run")
	return c
}

func (i *remover) uninstall(ctx context.Context, deleteData, force bool) error {
	if err := i.connect(); err != nil {
		return err
	}
	have, err := readHistory(ctx, i.cluster.Client, i.namespace, i.release)
	if err != nil {
		return err
	}
	last := have.last()
	if last == nil {
		return errcode.New(errcode.NotFound, "there is no release %s in namespace %s: give --release and --namespace; helm list -A shows all", i.release, i.namespace)
	}
	if last.Chart != nil && last.Chart.Name() != "axle" {
		return errcode.New(errcode.Conflict, "the release %s in namespace %s is of the chart %s: helm uninstall removes it", i.release, i.namespace, last.Chart.Name())
	}
	if !force {
		if err := i.connected(ctx, last.Config); err != nil {
			return err
		}
	}
	if err := have.mark(ctx, last, common.StatusUninstalling, "Uninstall is under way"); err != nil {
		return err
	}
	progress := i.app.Begin("deleting the objects of the release")
	defer progress.End()
	seen := map[string]bool{}
	var going []*unstructured.Unstructured
	for _, revision := range slices.Backward(have.revisions) {
		list, err := objects(revision.Manifest, i.release, i.namespace)
		if err != nil {
			return err
		}
		for _, object := range slices.Backward(list) {
			if seen[identity(object)] || object.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
				continue
			}
			seen[identity(object)] = true
			gone, err := i.remove(ctx, object)
			if err != nil {
				return err
			}
			if gone {
				going = append(going, object)
			}
		}
	}
	progress.Say("%d objects deleted; waiting until they are gone", len(going))
	if err := i.gone(ctx, going); err != nil {
		return err
	}
	claims, err := i.claims(ctx, deleteData)
	if err != nil {
		return err
	}
	if err := have.forget(ctx); err != nil {
		return err
	}
	return i.parted(claims, deleteData)
}

// Found is what a cluster has of a release.
type Found struct {
	// URL is the hub's address, empty if there is no release.
	URL string
	// Going is true if an uninstall has begun: the hub may be gone already.
	Going bool
}

// Find looks for the release of a namespace.
func Find(ctx context.Context, a *command.App, kubeconfig, kubeContext, release, namespace string) (Found, error) {
	i := place{app: a, kubeconfig: kubeconfig, kubeContext: kubeContext, release: release, namespace: namespace}
	if err := i.connect(); err != nil {
		return Found{}, err
	}
	have, err := readHistory(ctx, i.cluster.Client, namespace, release)
	if err != nil || have.last() == nil {
		return Found{}, err
	}
	address, _ := have.last().Config["url"].(string)
	return Found{strings.TrimSuffix(address, "/"), have.last().Info.Status == common.StatusUninstalling}, nil
}

// gone waits until objects no longer exist: their pods end in their own time.
func (i *remover) gone(ctx context.Context, list []*unstructured.Unstructured) error {
	done, err := i.app.PollUntil(ctx, goneWithin, func(ctx context.Context) (bool, error) {
		for len(list) > 0 {
			resource, err := i.cluster.Resource(list[0])
			if err != nil {
				return false, err
			}
			if _, err := resource.Get(ctx, list[0].GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return false, nil
			}
			list = list[1:]
		}
		return true, nil
	})
	if err != nil || done {
		return err
	}
	return errcode.New(errcode.Unavailable, "%s is not gone within %s: %s -n %s get pods shows the reason; then run the same command again", kubeapply.Name(list[0]), goneWithin, i.kubectl(), i.namespace)
}

// parted says what stays, and how to remove it.
func (i *remover) parted(claims []string, deleted bool) error {
	lines := []string{"the control plane is removed from namespace " + i.namespace}
	if deleted {
		lines = append(lines, fmt.Sprintf("%d volumes deleted", len(claims)))
	} else if len(claims) > 0 {
		lines = append(lines, fmt.Sprintf("its data stays: %s; axle install with the same --release goes on with it", strings.Join(claims, ", ")),
			fmt.Sprintf("to delete it: %s -n %s delete pvc %s", i.kubectl(), i.namespace, strings.Join(claims, " ")))
	}
	lines = append(lines, "the custom resource definitions and the custom resources stay; "+i.kubectl()+" get crds -o name lists them")
	_, err := fmt.Fprintln(i.app.Out, strings.Join(lines, "\n"))
	return err
}

// claims lists the volumes of the release, and deletes them if told to.
func (i *remover) claims(ctx context.Context, remove bool) ([]string, error) {
	resource := i.cluster.Client.Resource(core("persistentvolumeclaims")).Namespace(i.namespace)
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + i.release})
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "list the volumes: %w", err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
		if !remove {
			continue
		}
		if err := resource.Delete(ctx, item.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, errcode.New(errcode.Unavailable, "delete the volume claim %s: %w", item.GetName(), err)
		}
	}
	return names, nil
}

// connected refuses while agents of other clusters poll the hub of the release.
func (i *remover) connected(ctx context.Context, config map[string]any) error {
	address, _ := config["url"].(string)
	address = strings.TrimSuffix(address, "/")
	target, err := i.app.Target()
	if err != nil || strings.TrimSuffix(target.URL, "/") != address {
		return errcode.New(errcode.Conflict, "the hub at %s cannot be asked which agents are connected, because you are not logged in to it: axle login %s first, or pass --force", address, address)
	}
	client, err := i.app.Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	all, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{})
	if err != nil {
		return errcode.New(errcode.Unavailable, "ask the hub which agents are connected: %w; pass --force if it is gone for good", err)
	}
	var names []string
	for _, c := range all {
		if c.GetRegistered() && c.GetName() != managementCluster {
			names = append(names, c.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > namesShown {
		more = fmt.Sprintf(" and %d more", len(names)-namesShown)
	}
	return errcode.New(errcode.Conflict, "agents of %d clusters are connected: %s%s. They would keep what they run and ask a hub that is gone: delete the clusters first (axle clusters delete NAME), or pass --force", len(names), strings.Join(names[:min(len(names), namesShown)], ", "), more)
}
