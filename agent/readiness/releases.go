package readiness

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/removals"
)

const (
	// releaseType is the type of the Secrets in which Helm keeps its releases.
	releaseType = "helm.sh/release.v1"
	// maxRelease bounds the unpacked text of a release, maxDocument one manifest in it
	// that is decoded.
	maxRelease  = 16 << 20
	maxDocument = 1 << 20
)

// release is what is read of Helm's record.
type release struct {
	Name     string `json:"name"`
	Manifest string `json:"manifest"`
	Chart    struct {
		Metadata chart `json:"metadata"`
	} `json:"chart"`
	// Hooks are not in the manifest.
	Hooks []hook `json:"hooks"`
}

// chart is what a release says of the one that it was made of.
type chart struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	KubeVersion string `json:"kubeVersion"`
	AppVersion  string `json:"appVersion"`
}

// hook is a manifest that Helm applies at an event, and its file.
type hook struct {
	Path     string `json:"path"`
	Manifest string `json:"manifest"`
}

// releases looks at the manifests of live Helm releases.
func (a *asked) releases(ctx context.Context, r *result) error {
	a.ofReleases = r.check
	live, err := a.liveReleases(ctx)
	if err != nil {
		return err
	}
	for _, at := range live {
		packed, err := a.packed(ctx, at)
		if apierrors.IsNotFound(err) {
			continue // upgraded meanwhile
		}
		if err != nil {
			return errcode.New(errcode.Unavailable, "the agent cannot read Helm's releases: %w", err)
		}
		r.examined(1)
		if err := a.release(ctx, r, at, packed); err != nil {
			return err
		}
	}
	return nil
}

// packed is Helm's record of one revision.
func (a *asked) packed(ctx context.Context, at place) ([]byte, error) {
	if at.kept == configMaps {
		m, err := a.client.CoreV1().ConfigMaps(at.namespace).Get(ctx, at.object, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []byte(m.Data["release"]), nil
	}
	s, err := a.client.CoreV1().Secrets(at.namespace).Get(ctx, at.object, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return s.Data["release"], nil
}

// place is where one revision of a release is.
type place struct {
	namespace, name, status string
	// kept is the resource in which Helm keeps the record, and object the name of that one.
	kept, object string
	revision     int
}

// Helm keeps its records in Secrets, or in ConfigMaps with HELM_DRIVER=configmap.
const (
	secrets    = "secrets"
	configMaps = "configmaps"
)

// over are the states of a newest revision after which a release has no objects.
var over = []string{"uninstalled", "uninstalling"}

// history is what is known of the revisions of one release, in one resource.
type history struct{ newest, deployed place }

// add notes one revision more.
func (h *history) add(p place) {
	if p.revision > h.newest.revision {
		h.newest = p
	}
	if p.status == "deployed" && p.revision > h.deployed.revision {
		h.deployed = p
	}
}

// live is the revision that says what is in the cluster, and whether there is one. Helm leaves
// earlier revisions deployed when it uninstalls a release whose last upgrade failed, and may
// leave none deployed when it is interrupted.
func (h *history) live() (place, bool) {
	if h.deployed.revision > 0 && !slices.Contains(over, h.newest.status) {
		return h.deployed, true
	}
	return h.newest, !slices.Contains(over, h.newest.status)
}

// liveReleases returns the newest revision of each release that is deployed, or else the newest,
// unless that one is uninstalled. It reads no values.
func (a *asked) liveReleases(ctx context.Context) ([]place, error) {
	newest := map[[2]string]place{}
	for _, in := range []struct{ kept, selector string }{{secrets, "type=" + releaseType}, {configMaps, ""}} {
		all, err := a.revisions(ctx, in.kept, in.selector)
		if err != nil {
			return nil, err
		}
		for of, h := range all {
			p, is := h.live()
			if have, known := newest[of]; is && (!known || p.before(have)) {
				newest[of] = p
			}
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(x, y place) int {
		return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	}), nil
}

// revisions are those that are kept in one resource, by namespace and release.
func (a *asked) revisions(ctx context.Context, kept, selector string) (map[[2]string]*history, error) {
	all := map[[2]string]*history{}
	options := metav1.ListOptions{FieldSelector: selector, LabelSelector: "owner=helm"}
	err := a.each(ctx, corev1.SchemeGroupVersion.WithResource(kept), "", options, func(o *metav1.PartialObjectMetadata) {
		p := place{namespace: o.Namespace, name: o.Labels["name"], kept: kept, object: o.Name, status: o.Labels["status"]}
		var err error
		if p.revision, err = strconv.Atoi(o.Labels["version"]); err != nil || p.revision < 1 {
			return
		}
		of := [2]string{p.namespace, p.name}
		if all[of] == nil {
			all[of] = &history{}
		}
		all[of].add(p)
	})
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the agent cannot list Helm's releases: %w", err)
	}
	return all, nil
}

// before reports whether p says more of what is in the cluster than another revision.
func (p place) before(o place) bool {
	if deployed := p.status == "deployed"; deployed != (o.status == "deployed") {
		return deployed
	}
	return p.revision > o.revision
}

// release looks at one release. What cannot be read is a reason, and not an error: anybody
// who may write Secrets in a namespace writes releases.
func (a *asked) release(ctx context.Context, r *result, at place, packed []byte) error {
	path := pods(at.namespace)
	a.unpacking.Lock()
	defer a.unpacking.Unlock()
	record, err := unpack(packed)
	if err == nil {
		a.record(at, record.Chart.Metadata)
		err = record.each(func(o *manifest.Object, file string) error {
			key := o.Key("")
			apiVersion, _ := o.Data["apiVersion"].(string)
			f := a.removed(schema.FromAPIVersionAndKind(apiVersion, key.Kind), at.namespace, key.Name)
			if f == nil {
				return nil
			}
			f.Release, f.File = at.name, file
			f.Message += ". Upgrade the release " + at.name + " to a version of its chart that does; Helm cannot upgrade it any more once the version is gone"
			return r.found(ctx, f, path)
		})
	}
	if err == nil || errcode.Is(err, errcode.Unavailable) {
		return err
	}
	may, asking := a.view.may(ctx, path)
	if may {
		r.incomplete(fmt.Sprintf("the release %s in %s cannot be read: %s", at.name, at.namespace, errcode.Text(err)))
	} else {
		r.incomplete("a release in a namespace that you may not look into cannot be read")
	}
	return asking
}

// unpack reads Helm's record: JSON, in gzip, in base64.
func unpack(packed []byte) (r release, err error) {
	text, err := base64.StdEncoding.DecodeString(string(packed))
	if err != nil {
		return r, errcode.New(errcode.Unprocessable, "it is not base64")
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b, 0x08}) {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return r, errcode.New(errcode.Unprocessable, "it is not gzip")
		}
		if text, err = io.ReadAll(io.LimitReader(z, maxRelease+1)); err != nil {
			return r, errcode.New(errcode.Unprocessable, "its gzip is damaged")
		}
	}
	if len(text) > maxRelease {
		return r, errcode.New(errcode.Unprocessable, "it is larger than %d MiB", maxRelease>>20)
	}
	if err := bounded.JSON(text, &r, bounded.Most(maxRelease)); err != nil {
		return r, errcode.New(errcode.Unprocessable, "it is not a record of Helm")
	}
	return r, nil
}

// removable are the API versions that are removed at some time.
var removable = sync.OnceValue(func() (all [][]byte) {
	for _, r := range removals.All() {
		all = append(all, []byte(r.APIVersion()))
	}
	return slices.CompactFunc(all, bytes.Equal)
})

// source is the comment by which Helm names the file that a manifest came from.
var source = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^# Source: (\S{1,500})\r?$`) })

// escaped is a version that is written with escapes, as the encoders of some languages write a
// slash in JSON.
var escaped = regexp.MustCompile(`apiVersion["']?\s*:\s*"[^"\n]*\\`)

// mayBeRemoved reports whether a document may have a version which is removed at some time. The
// others are not decoded: that takes twenty times their size.
func mayBeRemoved(doc []byte) bool {
	return escaped.Match(doc) || slices.ContainsFunc(removable(), func(v []byte) bool { return bytes.Contains(doc, v) })
}

// each calls back for the objects of the manifest and of the hooks that may have a removed
// version, with their files. A text that cannot be read hides no other one: its error is returned
// after them.
func (r release) each(do func(o *manifest.Object, file string) error) error {
	hooks := append([]hook{{Manifest: r.Manifest}}, r.Hooks...)
	var unread error
	for _, h := range hooks {
		for _, doc := range manifest.Documents([]byte(h.Manifest)) {
			objects, err := decoded(doc)
			unread = cmp.Or(unread, err)
			file := h.Path
			if m := source().FindSubmatch(doc); m != nil {
				file = string(m[1])
			}
			for i := range objects {
				if err := do(&objects[i], file); err != nil {
					return err
				}
			}
		}
	}
	return unread
}

// decoded are the objects of a document that may have a removed version.
func decoded(doc []byte) ([]manifest.Object, error) {
	if !mayBeRemoved(doc) {
		return nil, nil
	}
	if len(doc) > maxDocument || aliases.Check(doc) != nil {
		return nil, errcode.New(errcode.Unprocessable, "a manifest in it is too large, by itself or by its aliases")
	}
	objects, _, err := manifest.Decode("", doc)
	if err != nil {
		return nil, errcode.New(errcode.Unprocessable, "a text in it is no manifest")
	}
	return objects, nil
}
