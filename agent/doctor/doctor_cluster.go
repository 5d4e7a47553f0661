package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
)

func checkCluster(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "cluster"}
	cfg.SetDefaults()
	k, err := kube.New(cfg.Kubeconfig, cfg.Clock, cfg.Log)
	if err != nil {
		return c.fails(errcode.Text(err), "give --kubeconfig, or run in a pod of the cluster")
	}
	s, err := k.Serves(ctx)
	switch {
	case errcode.Is(err, errcode.Forbidden):
		return c.fails(errcode.Text(err), "give the agent a service account that the API server accepts")
	case err != nil:
		return c.fails(errcode.Text(err), "let this machine or pod reach the API server, and look at its health")
	}
	if s.Partial != "" {
		return c.fails(s.Partial, "fix or remove the failing APIService; until then nothing is pruned")
	}
	c.Detail = "Kubernetes " + s.Caps.KubernetesVersion
	return c
}

// ownRights are what every agent needs for itself. The rights for services come on
// top.
func ownRights(namespace string) []authorizationv1.ResourceAttributes {
	all := []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "namespaces"}}
	for _, verb := range []string{"get", "list", "create", "update", "patch", "delete"} {
		all = append(all, authorizationv1.ResourceAttributes{Verb: verb, Resource: "secrets", Namespace: namespace})
	}
	return append(all,
		authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes"},
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "customresourcedefinitions", Group: "apiextensions.k8s.io"},
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "apiservices", Group: "apiregistration.k8s.io"})
}

// upgradeRights are what an agent needs to replace itself.
func upgradeRights(namespace string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, verb := range []string{"get", "create", "update"} {
		all = append(all, authorizationv1.ResourceAttributes{Verb: verb, Resource: "configmaps", Namespace: namespace},
			authorizationv1.ResourceAttributes{Verb: verb, Resource: "deployments", Group: "apps", Namespace: namespace})
	}
	return append(all, authorizationv1.ResourceAttributes{Verb: "delete", Resource: "deployments", Group: "apps", Namespace: namespace},
		authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: namespace})
}

const rightsFix = "bind the agent's account to the roles of its manifests; `axle clusters connect NAME --print` shows them"

func checkRights(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "rights"}
	cfg.SetDefaults()
	k, err := kube.New(cfg.Kubeconfig, cfg.Clock, cfg.Log)
	if err != nil {
		return c.fails(errcode.Text(err), "give --kubeconfig, or run in a pod of the cluster")
	}
	needs := ownRights(cfg.Namespace)
	if cfg.SelfUpgrade {
		needs = append(needs, upgradeRights(cfg.Namespace)...)
	}
	var missing []string
	for _, need := range needs {
		allowed, err := may(ctx, k.Client, need)
		if err != nil {
			return c.fails(err.Error(), "let this machine or pod reach the API server")
		}
		if !allowed {
			missing = append(missing, rightText(need))
		}
	}
	if len(missing) > 0 {
		return c.fails("may not "+strings.Join(missing, ", nor "), rightsFix)
	}
	everything, err := may(ctx, k.Client, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	switch {
	case err != nil:
		return c.fails(err.Error(), "let this machine or pod reach the API server")
	case everything:
		c.Detail = "may do everything"
	default:
		c.Detail = "has the rights that every agent needs, but not all rights: grant those for services separately; kinds that it may not watch are shown as unknown"
	}
	return c
}

func may(ctx context.Context, client kubernetes.Interface, need authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

func rightText(r authorizationv1.ResourceAttributes) string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

func checkDisk(_ context.Context, cfg agent.Config) Check {
	c := Check{Name: "disk"}
	dir := cfg.DataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return c.fails(fmt.Sprintf("%s cannot be written to: %v", dir, err), "let the agent's user write to --data-dir; a read-only file system must be remounted")
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return c.fails(err.Error(), "give --data-dir a folder on a local disk")
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free < diskWanted {
		return c.fails(fmt.Sprintf("%d MiB are free at %s", free>>20, dir), fmt.Sprintf("make room for at least %d MiB", diskWanted>>20))
	}
	c.Detail = fmt.Sprintf("%d MiB are free at %s", free>>20, dir)
	return c
}

func checkRender(_ context.Context, cfg agent.Config) Check {
	c := Check{Name: "render"}
	binary, err := render.Find(cfg.RenderBinary)
	if err != nil {
		return c.fails(err.Error(), "install axle-render beside axle-agent, or name it with --render-binary")
	}
	if _, err := os.Stat(render.Rare(binary)); err != nil {
		return c.fails(err.Error(), "install axle-render-rare beside axle-render: without it Jsonnet, CUE and WebAssembly cannot be rendered")
	}
	c.Detail = binary + ", and " + filepath.Base(render.Rare(binary)) + " beside it"
	return c
}
