package up

import (
	"cmp"
	"context"
	_ "embed" // gitserver.yaml
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubehealth"
)

// The Git server of the cluster, for who has no repository elsewhere: its objects' name,
// where the hub reaches it, and what the answers call it.
const (
	gitServer  = "axle-git"
	gitAddress = gitServer + "." + namespace + ".svc:8443"
	inCluster  = "cluster"
)

//go:embed gitserver.yaml
var gitManifest string

// gitObject is an object of the Git server, by its kind.
func gitObject(version, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": gitServer, "namespace": namespace}}}
}

// Host is the Git server's HOST:PORT, empty if the repository is elsewhere.
func (a *answers) Host() string {
	u, err := url.Parse(a.Repository)
	if a.Git != inCluster || err != nil {
		return ""
	}
	return u.Host
}

// Port is the port of Host.
func (a *answers) Port() string {
	_, port, _ := strings.Cut(a.Host(), ":")
	return port
}

// serveGit runs the Git server, if the repository is there, and looks at what it has.
func (b *builder) serveGit(ctx context.Context) error {
	if b.answers.Git != inCluster {
		return nil
	}
	if err := b.claimStays(ctx); err != nil {
		return err
	}
	login, err := b.makeLogin(ctx)
	if err != nil {
		return err
	}
	manifest, err := b.gitObjects(ctx, login)
	if err != nil {
		return err
	}
	if err := b.kube.ApplyAll(ctx, manifest, "axle-cli", func(string) {}); err != nil {
		return err
	}
	if err := b.gitRuns(ctx); err != nil {
		return err
	}
	if err := b.openGit(ctx); err != nil {
		return err
	}
	return b.lookRefs(ctx)
}

// claimStays refuses a volume that axle down has begun to delete.
func (b *builder) claimStays(ctx context.Context) error {
	claim, err := b.live(ctx, gitObject("v1", "PersistentVolumeClaim"))
	if err == nil && claim != nil && claim.GetDeletionTimestamp() != nil {
		err = errcode.New(errcode.Conflict, "axle down has begun to delete the Git server of the cluster: run axle down to its end; axle up local then makes everything again from this folder")
	}
	return err
}

// gitObjects are the Git server's manifests, for a version of its Secret. The pod is placed
// and pulled as that of the hub, whose image it has.
func (b *builder) gitObjects(ctx context.Context, login string) ([]byte, error) {
	hub, err := install.Hub(ctx, b.app, b.kubeconfig, b.kubeContext, release, namespace, filepath.Join(b.dir, filepath.FromSlash(hubValues)))
	if err != nil {
		return nil, err
	}
	of := func(fields ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(hub.Object, fields...)
		return value
	}
	containers, _ := of("spec", "template", "spec", "containers").([]any)
	if len(containers) == 0 {
		return nil, errcode.New(errcode.Internal, "the hub of the chart has no container")
	}
	container, _ := containers[0].(map[string]any)
	claims, _ := of("spec", "volumeClaimTemplates").([]any)
	var class any
	if len(claims) > 0 {
		claim, _ := claims[0].(map[string]any)
		class, _, _ = unstructured.NestedFieldNoCopy(claim, "spec", "storageClassName")
	}
	asJSON := func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	t, err := template.New(gitServer).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON}).Parse(gitManifest)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Name": gitServer, "Namespace": namespace, "Port": b.answers.Port(), "Repository": b.answers.Name, "Branch": b.answers.Branch, "Login": login,
		"Hub": of("spec", "selector", "matchLabels"), "PodSecurity": of("spec", "template", "spec", "securityContext"), "PullSecrets": of("spec", "template", "spec", "imagePullSecrets"),
		"NodeSelector": of("spec", "template", "spec", "nodeSelector"), "Tolerations": of("spec", "template", "spec", "tolerations"),
		"Image": container["image"], "PullPolicy": container["imagePullPolicy"], "Security": container["securityContext"], "StorageClass": class,
	})
	return []byte(out.String()), err
}

// gitRuns waits until the Git server answers.
func (b *builder) gitRuns(ctx context.Context) error {
	progress := b.app.Begin("waiting for the Git server of the cluster")
	defer progress.End()
	why := ""
	done, err := b.app.PollUntil(ctx, b.wait, func(ctx context.Context) (bool, error) {
		have, err := b.live(ctx, gitObject("apps/v1", "Deployment"))
		if err != nil || have == nil {
			why = "it is not there"
			return false, nil // an API server may be away for a moment
		}
		judged := kubehealth.Of(have)
		if why = judged.Message; judged.Status == kubehealth.Healthy {
			return true, nil
		}
		progress.Say("waiting: %s", why)
		return false, nil
	})
	if err != nil || done {
		return err
	}
	return errcode.New(errcode.Unavailable, "the Git server of the cluster does not run within %s (%s): %s -n %s describe pods -l app.kubernetes.io/name=%s shows the reason; run the same command again to go on", b.wait, why, b.kubectl(), namespace, gitServer)
}

// gitAllowed are the flags of an install with which the hub may read the Git server, where
// the values of the user do not have it.
func (b *builder) gitAllowed() ([]string, error) {
	host := b.answers.Host()
	if host == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(hubValues)))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the values: %w", err)
	}
	var values struct {
		Hub struct {
			UpstreamHosts []string `json:"upstreamHosts"`
		} `json:"hub"`
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, errcode.New(errcode.Invalid, "%s has other values than the chart takes: %w", hubValues, err)
	}
	have := values.Hub.UpstreamHosts
	if slices.Contains(have, host) {
		return nil, nil
	}
	return []string{"--set", "hub.upstreamHosts={" + strings.Join(append(have, host), ",") + "}"}, nil
}

// at is where a repository of the Git server is.
func (a *answers) at(address string) string {
	return "https://" + cmp.Or(address, gitAddress) + "/" + a.Name + ".git"
}
