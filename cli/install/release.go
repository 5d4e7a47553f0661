package install

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/secreterror"
)

// secretType is the type of the Secrets in which Helm keeps releases.
const secretType = "helm.sh/release.v1"

// maxRelease bounds a release that is read; a Secret holds at most 1 MiB of it packed.
const maxRelease = 32 << 20

// keepRevisions is how many revisions of a release are kept, as with Helm.
const keepRevisions = 10

// history is a release in a namespace, in the Secrets in which Helm keeps it.
type history struct {
	secrets   dynamic.ResourceInterface
	name      string
	namespace string
	// revisions are in order, the last one last.
	revisions []*release.Release
}

// readHistory reads all revisions of a release.
func readHistory(ctx context.Context, client dynamic.Interface, namespace, name string) (*history, error) {
	h := &history{secrets: client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace), name: name, namespace: namespace}
	list, err := h.secrets.List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,name=" + name})
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "read the release %s in namespace %s: %w", name, namespace, err)
	}
	for _, item := range list.Items {
		var secret corev1.Secret
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &secret); err != nil {
			return nil, err
		}
		r, err := decode(secret.Data["release"])
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "the Secret %s does not hold a release of Helm: %w", secret.Name, err)
		}
		h.revisions = append(h.revisions, r)
	}
	slices.SortFunc(h.revisions, func(a, b *release.Release) int { return a.Version - b.Version })
	return h, nil
}

// last is the newest revision, nil if there is none.
func (h *history) last() *release.Release {
	if len(h.revisions) == 0 {
		return nil
	}
	return h.revisions[len(h.revisions)-1]
}

// deployed is the revision that runs, nil if none does.
func (h *history) deployed() *release.Release {
	for _, r := range slices.Backward(h.revisions) {
		if r.Info.Status == common.StatusDeployed {
			return r
		}
	}
	return nil
}

// begin stores the next revision as pending. Another run that begins at the same time
// is refused; one that was interrupted is marked so.
func (h *history) begin(ctx context.Context, rendered *Rendered, config map[string]any) (*release.Release, error) {
	now := time.Now()
	r := &release.Release{
		Name: h.name, Namespace: h.namespace, Version: 1, Chart: rendered.chart, Config: config, Manifest: rendered.Manifest, Hooks: rendered.Hooks, ApplyMethod: string(release.ApplyMethodServerSideApply),
		Info: &release.Info{FirstDeployed: now, LastDeployed: now, Status: common.StatusPendingInstall, Description: "Install is under way", Notes: rendered.Notes},
	}
	if before := h.last(); before != nil {
		r.Version, r.Info.FirstDeployed = before.Version+1, before.Info.FirstDeployed
		if before.Info.Status.IsPending() {
			if err := h.mark(ctx, before, common.StatusFailed, "Interrupted"); err != nil {
				return nil, err
			}
		}
	}
	if h.deployed() != nil {
		r.Info.Status, r.Info.Description = common.StatusPendingUpgrade, "Upgrade is under way"
	}
	secret, err := h.secret(r)
	if err != nil {
		return nil, err
	}
	_, err = h.secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil, errcode.New(errcode.Conflict, "somebody else is installing or upgrading %s in namespace %s: wait until it has ended, and run this again", h.name, h.namespace)
	}
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "store the release: %w", secreterror.Of(err))
	}
	h.revisions = append(h.revisions, r)
	return r, nil
}

// finish marks a revision as deployed and tidies up before it.
func (h *history) finish(ctx context.Context, r *release.Release) error {
	if err := h.mark(ctx, r, common.StatusDeployed, "Install complete"); err != nil {
		return err
	}
	return h.tidy(ctx, r)
}

// tidy marks what was deployed before a revision as superseded, and forgets the oldest.
func (h *history) tidy(ctx context.Context, r *release.Release) error {
	for i, old := range h.revisions {
		switch {
		case old.Version == r.Version:
		case len(h.revisions)-i > keepRevisions:
			if err := h.secrets.Delete(ctx, secretName(old), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return errcode.New(errcode.Unavailable, "forget an old revision of the release: %w", err)
			}
		case old.Info.Status == common.StatusDeployed:
			if err := h.mark(ctx, old, common.StatusSuperseded, old.Info.Description); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark stores another status of a revision.
func (h *history) mark(ctx context.Context, r *release.Release, status common.Status, why string) error {
	r.SetStatus(status, why)
	secret, err := h.secret(r)
	if err != nil {
		return err
	}
	if _, err := h.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return errcode.New(errcode.Unavailable, "store the release: %w", secreterror.Of(err))
	}
	return nil
}

// forget deletes every revision, the oldest first, so that an interrupted one is
// still found.
func (h *history) forget(ctx context.Context) error {
	for _, r := range h.revisions {
		if err := h.secrets.Delete(ctx, secretName(r), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return errcode.New(errcode.Unavailable, "delete the release: %w", err)
		}
	}
	return nil
}

func secretName(r *release.Release) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", r.Name, r.Version)
}

func (h *history) secret(r *release.Release) (*unstructured.Unstructured, error) {
	packed, err := encode(r)
	if err != nil {
		return nil, err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName(r), Namespace: r.Namespace, Labels: map[string]string{
			"name": r.Name, "owner": "helm", "status": r.Info.Status.String(), "version": strconv.Itoa(r.Version), "modifiedAt": strconv.FormatInt(time.Now().Unix(), 10),
		}},
		Type: secretType, Data: map[string][]byte{"release": packed},
	})
	return &unstructured.Unstructured{Object: object}, err
}

// encode packs a release as Helm does: JSON, gzip, base64.
func encode(r *release.Release) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	if _, err := to.Write(text); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, packed.Bytes()), nil
}

// decode reads what encode wrote, or Helm.
func decode(packed []byte) (*release.Release, error) {
	text, err := base64.StdEncoding.AppendDecode(nil, packed)
	if err != nil {
		return nil, err
	}
	from, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(from, maxRelease+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxRelease {
		return nil, fmt.Errorf("it has more than %d bytes", maxRelease)
	}
	var r release.Release
	if err := json.Unmarshal(plain, &r); err != nil {
		return nil, err
	}
	if r.Name == "" || r.Info == nil || r.Version < 1 {
		return nil, fmt.Errorf("it has no name, version or status")
	}
	return &r, nil
}
